// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headroom::trace {

/// Half-open time [start, end), nanoseconds.
struct Span {
  std::int64_t start = 0, end = 0;
  bool operator==(const Span&) const = default;
};

/// A set of times: spans in order, none empty, none touching another. What merged() gives and the rest takes.
using Spans = std::vector<Span>;

/// The union of any spans, in any order, overlapping or not; empty and reversed ones fall away.
Spans merged(std::vector<Span> spans);
/// Total time, ns.
std::int64_t length(const Spans& spans);
Spans unite(const Spans& a, const Spans& b);
Spans intersect(const Spans& a, const Spans& b);
/// What is in a and not in b.
Spans subtract(const Spans& a, const Spans& b);
/// How much of the set lies in one span, ns. O(log n + spans inside).
std::int64_t length_within(const Spans& spans, Span window);

/// Up to 16 sets at once, none null: element m of the result is the time in which exactly the sets of the
/// bits of m are on, ns (bit i for sets[i]); element 0, when none is, stays 0. Size 2^n. The elements sum to
/// the length of the union of all.
std::vector<std::int64_t> time_by_combination(std::span<const Spans* const> sets);

}  // namespace headroom::trace
