// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headroom::trace {

/// Choices that the fuzzer makes, a byte each; 0 once they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool is_over() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  std::string_view one_of(std::span<const std::string_view> values) { return values[byte() % values.size()]; }
  /// All that is left.
  std::string_view rest() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A trace as its profiler would write it, of the events that the choices name: what an analysis joins
/// (launches and work, operators and calls, groups of ranks) meets far more often than in random text. Times
/// and numbers may be anything.
std::string generated_trace(Choices& choices, int rank);

}  // namespace headroom::trace
