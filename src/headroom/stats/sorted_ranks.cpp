// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/sorted_ranks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace headroom {
namespace {

/// How many of `values`, ascending, lie below `bound` (or at it): without a branch that depends on them,
/// which no processor can foresee.
template <typename IsBefore>
std::size_t count_before(std::span<const double> values, const IsBefore& is_before) {
  const double* base = values.data();
  std::size_t count = values.size();
  while (count > 1) {
    const std::size_t half = count / 2;
    base += half * static_cast<std::size_t>(is_before(base[half - 1]));
    count -= half;
  }
  const bool last = count == 1 && is_before(*base);
  return static_cast<std::size_t>(base - values.data()) + (last ? 1 : 0);
}

/// Sorted values in buckets of equal width, so that few are left to search among. Where most lie in one, as
/// with a very long tail, that one is searched.
class Buckets {
 public:
  explicit Buckets(std::span<const double> sorted) : sorted_(sorted) {
    const std::size_t count = std::min(kMost, sorted.size() / kPerBucket);
    if (count < 2) return;
    scale_ = static_cast<double>(count) / (sorted.back() - sorted.front());
    if (!(scale_ > 0) || !std::isfinite(scale_)) return;
    begins_.reserve(count + 1);
    last_ = count - 1;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      while (begins_.size() <= bucket_of(sorted[i])) begins_.push_back(i);
    }
    begins_.resize(count + 1, sorted.size());
  }

  /// From 1, the mean of ties; of a value that is there.
  double rank(double value) const {
    std::size_t begin = 0, end = sorted_.size();
    if (!begins_.empty()) {
      const std::size_t bucket = bucket_of(value);
      begin = begins_[bucket];
      end = begins_[bucket + 1];
    }
    if (sorted_[begin] != sorted_[end - 1]) {
      const std::span<const double> rest = sorted_.subspan(begin, end - begin);
      const std::size_t first = count_before(rest, [value](double other) { return other < value; });
      const bool has_tie = first + 1 < rest.size() && rest[first + 1] == value;
      end = begin +
            (has_tie ? count_before(rest, [value](double other) { return other <= value; }) : first + 1);
      begin += first;
    }
    return 1 + 0.5 * static_cast<double>(begin + end - 1);
  }

 private:
  static constexpr std::size_t kMost = 1 << 16, kPerBucket = 16;

  std::size_t bucket_of(double value) const {
    return std::min(last_, static_cast<std::size_t>((value - sorted_.front()) * scale_));
  }

  std::span<const double> sorted_;
  std::vector<std::size_t> begins_;  ///< of each bucket, and the end; empty where there is one
  double scale_ = 0;
  std::size_t last_ = 0;
};

}  // namespace

void replace_by_ranks(std::span<double> values, std::span<const double> sorted) {
  if (sorted.empty()) return;
  const Buckets buckets(sorted);
  for (double& value : values) value = buckets.rank(value);
}

}  // namespace headroom
