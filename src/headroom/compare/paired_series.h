// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Values of both that were measured in the same round.
struct PairedSeries {
  std::vector<double> a, b;
  std::vector<std::size_t> group_sizes;
};

/// Whether both records come from one run of one program, in which equal rounds are pairs: the environments
/// are the same object or tell the same session; of files without one, the same machine, second and command
/// line.
bool same_session(const Record& a, const Record& b);

/// The pairs of two records of one session, after warm-up, those of `a` times `factor`; nothing where they
/// are not of one session, or share no round.
std::optional<PairedSeries> paired_series(const Record& a, const Record& b, double factor = 1);

}  // namespace headroom
