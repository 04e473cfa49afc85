// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom::trace {

/// Merges sorted runs. Stable; one pass if already sorted; O(n log n).
template <typename Value, typename Before>
void merge_runs(std::span<Value> values, Before before) {
  std::vector<std::size_t> ends;
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
        // Runs mostly overlap only at their ends.
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

/// [start, end), nanoseconds.
struct Span {
  std::int64_t start = 0, end = 0;
  bool operator==(const Span&) const = default;
};

/// Ordered, non-empty, disjoint, not touching.
using Spans = std::vector<Span>;

/// Drops empty and reversed spans.
Spans merged(std::vector<Span> spans);
/// ns
std::int64_t length(const Spans& spans);
Spans unite(const Spans& a, const Spans& b);
Spans intersect(const Spans& a, const Spans& b);
Spans subtract(const Spans& a, const Spans& b);
/// ns; O(log n + spans inside).
std::int64_t length_within(const Spans& spans, Span window);

/// Takes up to 16 non-null sets. Element m of the result (size 2^n): time, ns, covered by exactly the sets of
/// the bits of m; element 0 is 0.
std::vector<std::int64_t> time_by_combination(std::span<const Spans* const> sets);

}  // namespace headroom::trace
