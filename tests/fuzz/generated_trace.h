// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headroom::trace {

/// The fuzzer's choices, a byte each; 0 at the end.
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
  std::string_view rest() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A trace of the chosen events: more matches (launches and work, operators and calls, groups of ranks) than
/// in random text. Times and numbers may be anything.
std::string generated_trace(Choices& choices, int rank);

}  // namespace headroom::trace
