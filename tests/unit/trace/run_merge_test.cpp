// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/run_merge.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace headroom::trace {
namespace {

/// What is sorted by, and where it stood.
using Item = std::pair<std::int64_t, std::size_t>;

/// Up to `runs` sorted pieces, each from where the one before it was or from later.
std::vector<Item> pieces(std::mt19937& random, std::size_t runs) {
  std::vector<Item> items;
  for (std::size_t run = random() % (runs + 1); run > 0; --run) {
    auto at = static_cast<std::int64_t>(random() % 40);
    for (std::size_t i = random() % 20; i > 0; --i) {
      items.emplace_back(at, items.size());
      at += static_cast<std::int64_t>(random() % 3);
    }
  }
  return items;
}

TEST(MergeRuns, SortsAsAStableSortDoes) {
  std::mt19937 random(3);
  const auto before = [](const Item& a, const Item& b) { return a.first < b.first; };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Item> items = pieces(random, 1 + static_cast<std::size_t>(round % 12));
    std::vector<Item> expected = items;
    std::ranges::stable_sort(expected, before);
    merge_runs(std::span(items), before);
    ASSERT_EQ(items, expected);
  }
}

TEST(MergeRuns, LooksOnceAtWhatIsSorted) {
  std::vector<int> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i / 2);
  std::size_t looks = 0;
  merge_runs(std::span(values), [&](int a, int b) {
    ++looks;
    return a < b;
  });
  EXPECT_EQ(looks, 999U);
}

}  // namespace
}  // namespace headroom::trace
