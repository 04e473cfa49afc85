// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/spark.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr std::array kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array kSigns{" ", ".", ":", "-", "=", "+", "*", "#", "@"};
static_assert(kBlocks.size() == kSigns.size());
constexpr double kLast = 0.95;

std::vector<std::size_t> counts_of(std::span<const double> values, std::size_t bins) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  std::vector<std::size_t> counts(bins);
  if (finite.empty()) return counts;
  const double low = std::ranges::min(finite), width = quantile(finite, kLast) - low;
  for (const double value : finite) {
    const double place = width > 0 ? (value - low) / width * static_cast<double>(bins) : 0;
    ++counts[std::min(bins - 1, static_cast<std::size_t>(std::min(place, static_cast<double>(bins))))];
  }
  return counts;
}

}  // namespace

std::string spark(std::span<const double> values, std::size_t bins, bool ascii) {
  if (values.empty() || bins == 0) return {};
  const std::vector<std::size_t> counts = counts_of(values, bins);
  const std::size_t most = std::max<std::size_t>(1, std::ranges::max(counts));
  const std::size_t highest = kBlocks.size() - 1;
  std::string text;
  for (const std::size_t count : counts) {
    const std::size_t level = (count * highest + most - 1) / most;
    text += ascii ? kSigns[level] : kBlocks[level];
  }
  return text;
}

}  // namespace headroom
