// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/bytes/byte_source.h"

namespace headroom::trace::readers {

/// The values in a Python pickle (protocols 2 to 5). Nothing is executed: an object of a class becomes a
/// value of kOther with the name of the class.
class Pickle {
 public:
  using Id = std::uint32_t;
  static constexpr Id kAbsent = 0xffffffffU;
  enum class Kind : std::uint8_t { kNone, kBool, kWhole, kReal, kText, kList, kDict, kOther };

  /// Throws Error with the byte offset: truncated, not a pickle, or more than kMostBytes of values.
  explicit Pickle(ByteSource& source);

  Id root() const { return root_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  Kind kind(Id value) const { return value == kAbsent ? Kind::kNone : nodes_[value].kind; }
  /// The value of a number; `absent` for other kinds.
  std::int64_t whole(Id value, std::int64_t absent = 0) const;
  /// The text of kText and kOther; "" for other kinds.
  std::string_view text(Id value) const;
  /// The elements of a list, tuple or set; empty for other kinds.
  const std::vector<Id>& list(Id value) const;
  /// The last value for a text key; kAbsent if missing or not a dict.
  Id at(Id dict, std::string_view key) const;

  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

 private:
  friend class PickleReader;
  struct Node {
    Kind kind = Kind::kNone;
    std::uint32_t size = 0;  ///< for texts
    union {
      std::int64_t whole;
      double real;
      std::uint64_t place;  ///< in texts_ or lists_
    };
  };
  std::vector<Node> nodes_;
  std::vector<std::vector<Id>> lists_;  ///< for a dict, keys and values in turn
  std::string texts_;
  Id root_ = kAbsent;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace headroom::trace::readers
