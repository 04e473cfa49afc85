// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/spans.h"

#include <iterator>
#include <limits>
#include <utility>

namespace headroom::trace {
namespace {

std::int64_t edge_of(const Spans& spans, std::size_t edge) {
  return edge % 2 == 0 ? spans[edge / 2].start : spans[edge / 2].end;
}

}  // namespace

Spans merged(std::vector<Span> spans) {
  std::erase_if(spans, [](const Span& span) { return span.end <= span.start; });
  merge_runs(std::span(spans), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (const Span& span : spans) {
    if (kept > 0 && span.start <= spans[kept - 1].end) {
      spans[kept - 1].end = std::max(spans[kept - 1].end, span.end);
    } else {
      spans[kept++] = span;
    }
  }
  spans.resize(kept);
  return spans;
}

std::int64_t length(const Spans& spans) {
  std::int64_t total = 0;
  for (const Span& span : spans) total += span.end - span.start;
  return total;
}

Spans unite(const Spans& a, const Spans& b) {
  Spans both;
  both.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(both), {}, &Span::start, &Span::start);
  return merged(std::move(both));
}

Spans intersect(const Spans& a, const Spans& b) {
  Spans both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span common{std::max(a[i].start, b[j].start), std::min(a[i].end, b[j].end)};
    if (common.start < common.end) both.push_back(common);
    (a[i].end < b[j].end ? i : j)++;
  }
  return both;
}

Spans subtract(const Spans& a, const Spans& b) {
  Spans rest;
  std::size_t j = 0;
  for (Span span : a) {
    while (j < b.size() && b[j].end <= span.start) ++j;
    for (std::size_t k = j; k < b.size() && b[k].start < span.end; ++k) {
      if (span.start < b[k].start) rest.push_back({span.start, b[k].start});
      span.start = std::max(span.start, b[k].end);
    }
    if (span.start < span.end) rest.push_back(span);
  }
  return rest;
}

std::int64_t length_within(const Spans& spans, Span window) {
  std::int64_t total = 0;
  if (window.end <= window.start) return 0;
  auto first = std::ranges::upper_bound(spans, window.start, {}, &Span::end);
  for (; first != spans.end() && first->start < window.end; ++first)
    total += std::min(first->end, window.end) - std::max(first->start, window.start);
  return total;
}

std::vector<std::int64_t> time_by_combination(std::span<const Spans* const> sets) {
  std::vector<std::int64_t> time(std::size_t{1} << sets.size(), 0);
  std::vector<std::size_t> next(sets.size(), 0);  // edge 2 i opens span i, 2 i + 1 closes it
  std::size_t on = 0;
  std::int64_t from = 0;
  for (;;) {
    std::int64_t at = std::numeric_limits<std::int64_t>::max();
    for (std::size_t set = 0; set < sets.size(); ++set) {
      if (next[set] < 2 * sets[set]->size()) at = std::min(at, edge_of(*sets[set], next[set]));
    }
    if (at == std::numeric_limits<std::int64_t>::max()) return time;
    if (on != 0) time[on] += at - from;
    from = at;
    for (std::size_t set = 0; set < sets.size(); ++set) {
      while (next[set] < 2 * sets[set]->size() && edge_of(*sets[set], next[set]) == at) {
        on ^= std::size_t{1} << set;
        ++next[set];
      }
    }
  }
}

}  // namespace headroom::trace
