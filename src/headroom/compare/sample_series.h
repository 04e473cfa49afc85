// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// The samples of a record after warm-up, in the order measured.
struct SampleSeries {
  std::vector<double> values;            ///< in the record's unit, times the factor asked for
  std::vector<std::size_t> group_sizes;  ///< how many of them each process gave; no zeros
};

SampleSeries sample_series(const Record& record, double factor = 1);

/// Values of both that were measured in the same round.
struct PairedSeries {
  std::vector<double> a, b;
  std::vector<std::size_t> group_sizes;
};

/// Whether both records come from one run of one program, in which equal rounds are pairs: the environments
/// are the same object, or tell the same machine, second and command line.
bool same_session(const Record& a, const Record& b);

/// The pairs of two records of one session; nothing where they are not, or share no round.
std::optional<PairedSeries> paired_series(const Record& a, const SampleSeries& in_a, const Record& b,
                                          const SampleSeries& in_b);

}  // namespace headroom
