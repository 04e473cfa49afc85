// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom/files/byte_source.h"

namespace headroom::trace::readers {

// Protocol buffers by wire format (protobuf.dev/programming-guides/encoding). libprotobuf would add 7 ms to
// program start (lite: 2 ms) and load whole messages.

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  ///< number, or length for kBytes
  std::string_view bytes;   ///< for kBytes

  bool is(std::uint32_t wanted, WireType wanted_type) const {
    return number == wanted && type == wanted_type;
  }
  bool is_bytes(std::uint32_t wanted) const { return is(wanted, WireType::kBytes); }
  bool is_varint(std::uint32_t wanted) const { return is(wanted, WireType::kVarint); }
  std::int64_t whole() const { return static_cast<std::int64_t>(value); }
  double real() const {
    return type == WireType::kFixed32 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(value))}
                                      : std::bit_cast<double>(value);
  }
};

class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes) : rest_(bytes) {}
  /// Returns false at the end and at malformed bytes.
  bool next(WireField& field);
  bool is_whole() const { return rest_.empty() && !is_broken_; }

 private:
  std::string_view rest_;
  bool is_broken_ = false;
};

class WireStream {
 public:
  explicit WireStream(ByteSource& source) : source_(source) {}

  enum class Next { kField, kOver, kBroken, kCutOff };
  /// Reads a field before byte `end`; of kBytes only the length: then call take() or pass(), or read fields
  /// up to offset() + value.
  Next next(WireField& field, std::uint64_t end = UINT64_MAX);
  Next next_varint(std::uint64_t& value, std::uint64_t end = UINT64_MAX);
  /// Returns at most kLargest bytes, valid until the next call; nothing if the stream is shorter.
  std::optional<std::string_view> take(std::uint64_t count);
  /// Returns false if the stream is shorter.
  bool pass(std::uint64_t count);

  std::uint64_t offset() const { return offset_; }
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 28;

 private:
  bool fill(std::size_t count);
  std::string_view buffered() const { return {buffer_.data() + at_, end_ - at_}; }
  void advance(std::size_t count);

  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

bool is_readable(std::string_view bytes);

}  // namespace headroom::trace::readers
