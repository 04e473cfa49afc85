// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom/trace/readers/byte_source.h"

namespace headroom::trace::readers {

// Protocol buffers by their wire format alone (protobuf.dev/programming-guides/encoding): a reader names the
// fields that it uses by their numbers. libprotobuf would cost the program 7 ms to start, its lite form 2 ms,
// and takes a message as a whole.

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  ///< a number; of kBytes the length
  std::string_view bytes;   ///< of kBytes: text, a message, packed numbers

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

/// The fields of a message in memory, one after the other.
class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes) : rest_(bytes) {}
  /// False at the end, and where the bytes make no field.
  bool next(WireField& field);
  /// Whether next() came to the end of the message.
  bool is_whole() const { return rest_.empty() && !is_broken_; }

 private:
  std::string_view rest_;
  bool is_broken_ = false;
};

/// The fields of a message that comes from a file; those of bytes are taken, passed or entered.
class WireStream {
 public:
  explicit WireStream(ByteSource& source) : source_(source) {}

  enum class Next { kField, kOver, kBroken, kCutOff };
  /// The tag of the next field before byte `end` of the file, and its number; of kBytes its length only:
  /// take() or pass() comes next, or the fields within it up to offset() + value.
  Next next(WireField& field, std::uint64_t end = UINT64_MAX);
  /// A number that stands alone.
  Next next_varint(std::uint64_t& value, std::uint64_t end = UINT64_MAX);
  /// The bytes of the file that come now, good until the next call; nothing where the file ends before them.
  /// `count` at most kLargest: memory follows what is there, not what a length says.
  std::optional<std::string_view> take(std::uint64_t count);
  /// False where the file ends before.
  bool pass(std::uint64_t count);

  std::uint64_t offset() const { return offset_; }
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 28;

 private:
  /// Whether so many bytes are in the buffer.
  bool fill(std::size_t count);
  std::string_view buffered() const { return {buffer_.data() + at_, end_ - at_}; }
  void advance(std::size_t count);

  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

/// Whether all of `bytes` could be text that people read.
bool is_readable(std::string_view bytes);

}  // namespace headroom::trace::readers
