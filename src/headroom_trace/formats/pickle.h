// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/files/byte_source.h"

namespace headroom::trace::readers {

/// A Python pickle (protocols 2 to 5). Executes nothing: an object becomes kOther with its class name.
class Pickle {
 public:
  using Id = std::uint32_t;
  static constexpr Id kAbsent = 0xffffffffU;
  enum class Kind : std::uint8_t { kNone, kBool, kInteger, kReal, kText, kList, kDict, kOther };

  /// Throws Error with the byte offset: truncated, not a pickle, or more than kMostBytes of values.
  explicit Pickle(ByteSource& source);

  Id root() const { return root_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  Kind kind(Id value) const { return value == kAbsent ? Kind::kNone : nodes_[value].kind; }
  std::int64_t whole(Id value, std::int64_t absent = 0) const;
  /// Returns "" unless kText or kOther.
  std::string_view text(Id value) const;
  /// Returns nothing unless a list, tuple or set.
  const std::vector<Id>& list(Id value) const;
  /// Returns kAbsent if missing or not a dict.
  Id at(Id dict, std::string_view key) const;

  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

 private:
  friend class PickleReader;
  struct Node {
    Kind kind = Kind::kNone;
    std::uint32_t size = 0;  ///< of texts
    union {
      std::int64_t whole;
      double real;
      std::uint64_t place;  ///< in texts_ or lists_
    };
  };
  std::vector<Node> nodes_;
  std::vector<std::vector<Id>> lists_;  ///< dicts: keys and values alternate
  std::string texts_;
  Id root_ = kAbsent;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace headroom::trace::readers
