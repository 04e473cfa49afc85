// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace headroom::trace {

/// Sorts what is made of sorted pieces, as the columns of a file are (operators, then calls; stream by
/// stream), by merging them where they overlap: one pass over what is sorted already. Stable. O(n log n).
template <typename Value, typename Before>
void merge_runs(std::span<Value> values, Before before) {
  std::vector<std::size_t> ends;  // of the runs
  for (std::size_t at = 1; at < values.size(); ++at) {
    if (before(values[at], values[at - 1])) ends.push_back(at);
  }
  ends.push_back(values.size());
  while (ends.size() > 1) {
    std::size_t start = 0, kept = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      if (run + 1 < ends.size()) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(ends[run]);
        const auto last = values.begin() + static_cast<std::ptrdiff_t>(ends[run + 1]);
        // Pieces that follow each other in time overlap at their ends only.
        const auto from =
            std::upper_bound(values.begin() + static_cast<std::ptrdiff_t>(start), middle, *middle, before);
        if (from != middle)
          std::inplace_merge(from, middle, std::lower_bound(middle, last, *(middle - 1), before), before);
      }
      start = ends[std::min(run + 1, ends.size() - 1)];
      ends[kept++] = start;
    }
    ends.resize(kept);
  }
}

}  // namespace headroom::trace
