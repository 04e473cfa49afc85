// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom_trace/bytes/byte_source.h"

namespace headroom::trace::readers {

// Protocol buffers by their wire format alone (protobuf.dev/programming-guides/encoding): a reader names the
// fields it uses by number. libprotobuf would add 7 ms to the start of the program, its lite version 2 ms,
// and would load whole messages.

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  ///< a number; the length for kBytes
  std::string_view bytes;   ///< for kBytes: text, a message, packed numbers

  bool is(std::uint32_t wanted, WireType wanted_type) const {
    return number == wanted && type == wanted_type;
  }
  bool is_bytes(std::uint32_t wanted) const { return is(wanted, WireType::kBytes); }
  bool is_varint(std::uint32_t wanted) const { return is(wanted, WireType::kVarint); }
  std::int64_t whole() const { return static_cast<std::int64_t>(value); }
  /// A double, or a float in a field of four bytes.
  double real() const {
    return type == WireType::kFixed32 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(value))}
                                      : std::bit_cast<double>(value);
  }
};

/// Iterates over the fields of a message in memory.
class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes) : rest_(bytes) {}
  /// Returns false at the end and at malformed bytes.
  bool next(WireField& field);
  /// Whether next() reached the end of the message.
  bool is_whole() const { return rest_.empty() && !is_broken_; }

 private:
  std::string_view rest_;
  bool is_broken_ = false;
};

/// Iterates over the fields of a message in a stream; fields of bytes are taken, skipped or entered.
class WireStream {
 public:
  explicit WireStream(ByteSource& source) : source_(source) {}

  enum class Next { kField, kOver, kBroken, kCutOff };
  /// Reads the tag of the next field before byte `end` of the stream, and its number. For kBytes it reads
  /// only the length: call take() or pass() next, or read the nested fields up to offset() + value.
  Next next(WireField& field, std::uint64_t end = UINT64_MAX);
  /// Reads a number without a tag.
  Next next_varint(std::uint64_t& value, std::uint64_t end = UINT64_MAX);
  /// The next `count` (at most kLargest) bytes, valid until the next call; nothing if the stream is shorter.
  /// Memory follows the bytes present, not the length claimed.
  std::optional<std::string_view> take(std::uint64_t count);
  /// Skips bytes. Returns false if the stream is shorter.
  bool pass(std::uint64_t count);

  std::uint64_t offset() const { return offset_; }
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 28;

 private:
  /// Returns whether the buffer holds `count` bytes.
  bool fill(std::size_t count);
  std::string_view buffered() const { return {buffer_.data() + at_, end_ - at_}; }
  void advance(std::size_t count);

  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

/// Whether all of `bytes` could be printable text.
bool is_readable(std::string_view bytes);

}  // namespace headroom::trace::readers
