// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/base/json.h"
#include "headroom/record/record.h"

namespace headroom {

/// The samples of a record as a chart takes them (assets/charts/samples.js), in at most about `most` numbers
/// however many there are, each to seven digits:
///
///     {"n": samples, "warmup": of these, "each": how many neighbours a mark stands for,
///      "processes": [{"pid", "warmup": marks, "round": the first, "rounds": [...] or absent,
///                     "values": [...],
///                     "warmup_samples", "low", "quarter", "upper", "high": [...] where "each" is not 1,
///                     "disturbed": [[mark, "stolen", "preempted" or "throttled"]...] or absent}],
///      "histogram": {"from", "to", "below": samples, "above": samples, "counts": [...]} or absent}
///
/// Where "each" is more than 1, "values" are medians of neighbours, and the least, the quartiles and the
/// largest stand beside. "rounds" is absent where they count up by one. "below" and "above" have values that
/// are not finite, too. null for a record without samples.
Json sample_summary(const Record& record, std::size_t most);

/// How many numbers each of so many records may have in a page.
std::size_t numbers_that_fit(std::size_t records);

}  // namespace headroom
