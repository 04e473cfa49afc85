// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headroom {

/// Numbers as they stand in a text, of which only a few order statistics are wanted. To turn decimal digits
/// into the nearest double is most of the work of reading numbers; and since it keeps their order, it need be
/// done for the chosen ones only. Numbers from 0 to 1.8 with up to 19 decimals are held as whole multiples of
/// 1e-19, exactly; all others as doubles.
class DecimalSample {
 public:
  static constexpr int kDecimals = 19;

  void clear();
  void add_decimal(std::uint64_t multiple_of_1e_19) { decimals_.push_back(multiple_of_1e_19); }
  void add_double(double value) { doubles_.push_back(value); }
  std::size_t size() const { return decimals_.size() + doubles_.size(); }

  /// numpy.percentile by linear interpolation, to the last bit; not-a-number where one of the numbers is. At
  /// least one number; the percentiles ascend, from 0 to 100.
  std::vector<double> percentiles(std::span<const int> percentiles);

 private:
  std::vector<std::uint64_t> decimals_;
  std::vector<double> doubles_;
};

}  // namespace headroom
