// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/spans.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace headroom::trace {

namespace {

TEST(Spans, MergedIsTheUnionInOrder) {
  EXPECT_EQ(merged({{5, 7}, {1, 3}, {3, 4}, {6, 9}, {2, 2}, {9, 8}}), (Spans{{1, 4}, {5, 9}}));
  EXPECT_EQ(merged({}), Spans{});
}

std::vector<bool> drawn(const Spans& spans, int size) {
  std::vector<bool> line(static_cast<std::size_t>(size), false);
  for (const Span& span : spans) {
    for (auto t = span.start; t < span.end; ++t) line[static_cast<std::size_t>(t)] = true;
  }
  return line;
}

Spans any_spans(std::mt19937& random, int size) {
  std::vector<Span> spans;
  for (unsigned i = random() % 8; i > 0; --i) {
    const auto start = static_cast<std::int64_t>(random() % static_cast<unsigned>(size));
    spans.push_back({start, std::min<std::int64_t>(size, start + static_cast<std::int64_t>(random() % 12))});
  }
  return merged(spans);
}

TEST(Spans, SetOperationsAgreeWithALineOfTicks) {
  constexpr int kSize = 60;
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const Spans a = any_spans(random, kSize), b = any_spans(random, kSize);
    const auto line_a = drawn(a, kSize), line_b = drawn(b, kSize);
    const auto united = drawn(unite(a, b), kSize), common = drawn(intersect(a, b), kSize),
               rest = drawn(subtract(a, b), kSize);
    for (std::size_t t = 0; t < kSize; ++t) {
      ASSERT_EQ(united[t], line_a[t] || line_b[t]);
      ASSERT_EQ(common[t], line_a[t] && line_b[t]);
      ASSERT_EQ(rest[t], line_a[t] && !line_b[t]);
    }
    ASSERT_EQ(length(unite(a, b)), length(a) + length(b) - length(intersect(a, b)));
  }
}

TEST(Spans, LengthWithinAWindowAndTimeByCombinationAgreeWithALineOfTicks) {
  constexpr int kSize = 60;
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::array<Spans, 3> sets;
    for (Spans& set : sets) set = any_spans(random, kSize);
    std::vector<std::int64_t> expected(8, 0);
    for (std::size_t t = 0; t < kSize; ++t) {
      std::size_t mask = 0;
      for (std::size_t i = 0; i < 3; ++i) mask |= std::size_t{drawn(sets[i], kSize)[t]} << i;
      if (mask != 0) ++expected[mask];
    }
    ASSERT_EQ(time_by_combination(std::array<const Spans*, 3>{&sets[0], &sets[1], &sets[2]}), expected);
    const Span window{static_cast<std::int64_t>(random() % kSize),
                      static_cast<std::int64_t>(random() % kSize)};
    ASSERT_EQ(length_within(sets[0], window), length(intersect(sets[0], merged({window}))));
  }
  EXPECT_EQ(time_by_combination({}), std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace headroom::trace
