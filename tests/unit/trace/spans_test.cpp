// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/spans.h"

#include <gtest/gtest.h>

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

TEST(Spans, SetOperationsAgreeWithALineOfTicks) {
  constexpr int kSize = 60;
  std::mt19937 random(7);
  const auto any = [&] {
    std::vector<Span> spans;
    for (unsigned i = random() % 8; i > 0; --i) {
      const auto start = static_cast<std::int64_t>(random() % kSize);
      spans.push_back(
          {start, std::min<std::int64_t>(kSize, start + static_cast<std::int64_t>(random() % 12))});
    }
    return merged(spans);
  };
  for (int round = 0; round < 500; ++round) {
    const Spans a = any(), b = any();
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

}  // namespace
}  // namespace headroom::trace
