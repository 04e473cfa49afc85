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

/// Takes an array of numbers from the stream and adds them to the sample. Throws Error where one is no
/// number.
void read_numbers(JsonStream& stream, DecimalSample& sample);

/// Takes the value that comes next and gives what Python prints for its str(): None, True, 1e+16, {'a':
/// [1, 2.5, "it's"]}. Whole numbers keep all their digits, what is beyond double is inf. Throws Error as the
/// stream does.
std::string python_str(JsonStream& stream);

/// repr() of a float: the shortest digits that read back as `value`.
std::string python_float(double value);

/// repr() of a string in UTF-8.
std::string python_quoted(std::string_view text);

/// Python's {:8.3f}, with_plus {:+8.3f}: nan and inf stand right, too.
std::string python_fixed(double value, std::size_t width, int decimals, bool with_plus);

/// `text` padded with spaces to `width` characters (code points, as Python counts), on its left or right.
std::string python_padded(std::string_view text, std::size_t width, bool on_left);

struct DdpReport;

/// The comparison of two reports of PyTorch's DDP benchmark, byte for byte as its own diff.py prints it, for
/// those who parse that. Results are matched by position, as there: the default form of `headroom diff` is
/// the one that matches by model, batch size and rank count. Throws Error where diff.py would stop with an
/// exception: a member that it needs is missing, a list of measurements is empty, a time is zero.
std::string ddp_diff(const DdpReport& baseline, const DdpReport& test);

/// The same for two files, read at the same time.
std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test);

}  // namespace headroom
