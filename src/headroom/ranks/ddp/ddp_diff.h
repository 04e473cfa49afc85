// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/files/json_stream.h"

namespace headroom {

/// Numbers in decimal text of which a few order statistics are needed; parses only those. Numbers from 0 to
/// 1.8 with up to 19 decimals are exact multiples of 1e-19; others are doubles.
class DecimalSample {
 public:
  static constexpr int kDecimals = 19;

  void clear();
  void add_decimal(std::uint64_t multiple_of_1e_19) { decimals_.push_back(multiple_of_1e_19); }
  void add_double(double value) { doubles_.push_back(value); }
  std::size_t size() const { return decimals_.size() + doubles_.size(); }

  /// numpy.percentile (linear interpolation) to the last bit; NaN if any number is. Requires a number and
  /// ascending percentiles from 0 to 100.
  std::vector<double> percentiles(std::span<const int> percentiles);

 private:
  std::vector<std::uint64_t> decimals_;
  std::vector<double> doubles_;
};

/// Throws Error if the array has anything else.
void read_numbers(JsonStream& stream, DecimalSample& sample);

/// Python's str() of the next value: None, 1e+16, {'a': [1, 2.5, "it's"]}. Integers keep all digits. Throws
/// Error like the stream.
std::string python_str(JsonStream& stream);

/// repr() of a float: the shortest digits that read back as `value`.
std::string python_float(double value);

/// Python's repr() of a UTF-8 string.
std::string python_quoted(std::string_view text);

/// Python's {:8.3f}, with_plus {:+8.3f}, nan and inf included.
std::string python_fixed(double value, std::size_t width, int decimals, bool with_plus);

/// Pads to `width` code points, as Python counts.
std::string python_padded(std::string_view text, std::size_t width, bool on_left);

struct DdpReport;

/// Byte for byte like the diff.py of PyTorch's DDP benchmark: matches results by position. Throws Error where
/// diff.py raises, such as for missing members and zero times.
std::string ddp_diff(const DdpReport& baseline, const DdpReport& test);

std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test);

}  // namespace headroom
