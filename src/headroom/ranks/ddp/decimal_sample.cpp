// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/decimal_sample.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace headroom {
namespace {

/// The double nearest to `multiple` * 1e-19, as parsing its digits gives it.
double nearest_double(std::uint64_t multiple) {
  constexpr std::uint64_t kOne = 10'000'000'000'000'000'000u;
  std::array<char, 2 + DecimalSample::kDecimals> text{'0', '.'};
  text[0] = static_cast<char>('0' + multiple / kOne);
  std::uint64_t rest = multiple % kOne;
  for (std::size_t i = text.size(); i-- > 2; rest /= 10) text[i] = static_cast<char>('0' + rest % 10);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
double nearest_double(double value) {
  return value;
}

/// Below this, partitioning is as fast as anything.
constexpr std::size_t kWorthBuckets = 4096;
constexpr int kBucketBits = 12;

/// Which of 2^12 to 2^13 equal parts of the range from `least` a number lies in.
struct Buckets {
  std::uint64_t least;
  int shift;
  std::size_t of(std::uint64_t value) const { return static_cast<std::size_t>((value - least) >> shift); }
};

/// The order statistics `rank` and, where there is one, `rank` + 1 (counted from 0).
template <typename Number>
std::pair<Number, Number> neighbours(std::span<Number> values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  const auto next = std::min_element(place + 1, values.end());
  return {*place, next == values.end() ? *place : *next};
}

/// Counts the numbers in each part of the range, then looks at the parts that hold the ranks: nothing is
/// moved and no branch depends on the numbers.
class BucketSelection {
 public:
  explicit BucketSelection(std::span<const std::uint64_t> values) : values_(values) {
    const auto [least, most] = std::ranges::minmax(values);
    const int bits = 64 - std::countl_zero(most - least);
    buckets_ = {least, std::max(0, bits - kBucketBits)};
    counts_.assign((std::size_t{1} << kBucketBits) + 1, 0);
    for (const std::uint64_t value : values) ++counts_[buckets_.of(value)];
  }

  std::pair<std::uint64_t, std::uint64_t> neighbours_of(std::size_t rank) const {
    std::size_t before = 0;
    std::size_t low = 0;
    while (before + counts_[low] <= rank) before += counts_[low++];
    std::size_t high = low;
    for (std::size_t up_to = before + counts_[low]; up_to <= rank + 1 && up_to < values_.size();) {
      up_to += counts_[++high];
    }
    std::vector<std::uint64_t> inside;
    std::ranges::copy_if(values_, std::back_inserter(inside), [&](std::uint64_t value) {
      const std::size_t bucket = buckets_.of(value);
      return bucket >= low && bucket <= high;
    });
    return neighbours(std::span(inside), rank - before);
  }

 private:
  std::span<const std::uint64_t> values_;
  Buckets buckets_{};
  std::vector<std::size_t> counts_;
};

/// numpy's formula takes the nearer end as the base.
double interpolated(double below, double above, double share) {
  const double step = above - below;
  return share >= 0.5 ? above - step * (1 - share) : below + step * share;
}

template <typename Select>
std::vector<double> interpolate(std::size_t count, std::span<const int> percentiles, Select select) {
  std::vector<double> result;
  for (const int percentile : percentiles) {
    const double position = static_cast<double>(count - 1) * (percentile / 100.0);
    const double rank = std::floor(position);
    const auto [below, above] = select(static_cast<std::size_t>(rank));
    result.push_back(interpolated(nearest_double(below), nearest_double(above), position - rank));
  }
  return result;
}

}  // namespace

void DecimalSample::clear() {
  decimals_.clear();
  doubles_.clear();
}

std::vector<double> DecimalSample::percentiles(std::span<const int> percentiles) {
  if (std::ranges::any_of(doubles_, [](double value) { return std::isnan(value); }))
    return std::vector<double>(percentiles.size(), std::numeric_limits<double>::quiet_NaN());
  if (!doubles_.empty()) {
    std::vector<double> all = doubles_;
    for (const std::uint64_t decimal : decimals_) all.push_back(nearest_double(decimal));
    return interpolate(all.size(), percentiles,
                       [&](std::size_t rank) { return neighbours(std::span(all), rank); });
  }
  if (decimals_.size() < kWorthBuckets) {
    return interpolate(decimals_.size(), percentiles,
                       [&](std::size_t rank) { return neighbours(std::span(decimals_), rank); });
  }
  const BucketSelection selection(decimals_);
  return interpolate(decimals_.size(), percentiles,
                     [&](std::size_t rank) { return selection.neighbours_of(rank); });
}

}  // namespace headroom
