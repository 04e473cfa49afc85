// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/readers/byte_source.h"

namespace headroom::trace::readers {

/// What a pickle of Python (protocols 2 to 5) holds, as plain values. Nothing of it is run: an object of a
/// class is a value of kOther with the class's name.
class Pickle {
 public:
  using Id = std::uint32_t;
  static constexpr Id kAbsent = 0xffffffffU;
  enum class Kind : std::uint8_t { kNone, kBool, kWhole, kReal, kText, kList, kDict, kOther };

  /// Throws Error with the byte: cut off, no pickle, or more than kMostBytes of values.
  explicit Pickle(ByteSource& source);

  Id root() const { return root_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  Kind kind(Id value) const { return value == kAbsent ? Kind::kNone : nodes_[value].kind; }
  /// Of numbers; `absent` of all else.
  std::int64_t whole(Id value, std::int64_t absent = 0) const;
  /// Of text and of kOther; "" of all else.
  std::string_view text(Id value) const;
  /// The elements of a list, tuple or set; of all else none.
  const std::vector<Id>& list(Id value) const;
  /// The last value of a text key; kAbsent where there is none, or no dict.
  Id at(Id dict, std::string_view key) const;

  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

 private:
  friend class PickleReader;
  struct Node {
    Kind kind = Kind::kNone;
    std::uint32_t size = 0;  ///< of a text
    union {
      std::int64_t whole;
      double real;
      std::uint64_t place;  ///< in texts_ or lists_
    };
  };
  std::vector<Node> nodes_;
  std::vector<std::vector<Id>> lists_;  ///< of a dict keys and values in turn
  std::string texts_;
  Id root_ = kAbsent;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace headroom::trace::readers
