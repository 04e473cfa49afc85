// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/bytes/wire.h"

#include <algorithm>
#include <cstring>

namespace headroom::trace::readers {
namespace {

constexpr std::size_t kLongestVarint = 10;
constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::uint64_t kLargestNumber = (std::uint64_t{1} << 29) - 1;

/// Returns the bytes consumed; 0 at an error.
std::size_t read_varint(std::string_view bytes, std::uint64_t& value) {
  value = 0;
  const std::size_t most = std::min(bytes.size(), kLongestVarint);
  for (std::size_t i = 0; i < most; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) return i + 1;
  }
  return 0;
}

/// False for obsolete group types and unknown types.
bool read_tag(std::uint64_t tag, WireField& field) {
  const auto type = static_cast<unsigned>(tag & 7);
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > kLargestNumber || type == 3 || type == 4 || type > 5) return false;
  field.number = static_cast<std::uint32_t>(number);
  field.type = static_cast<WireType>(type);
  return true;
}

std::size_t fixed_size(WireType type) {
  return type == WireType::kFixed32 ? 4 : 8;
}

std::uint64_t read_fixed(std::string_view bytes, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), size);  // little-endian, as all supported hosts
  return value;
}

}  // namespace

bool WireMessage::next(WireField& field) {
  if (rest_.empty() || is_broken_) return false;
  is_broken_ = true;
  std::uint64_t tag = 0;
  std::size_t size = read_varint(rest_, tag);
  if (size == 0 || !read_tag(tag, field)) return false;
  rest_.remove_prefix(size);
  field.bytes = {};
  if (field.type == WireType::kFixed64 || field.type == WireType::kFixed32) {
    size = fixed_size(field.type);
    if (rest_.size() < size) return false;
    field.value = read_fixed(rest_, size);
  } else {
    size = read_varint(rest_, field.value);
    if (size == 0) return false;
    if (field.type == WireType::kBytes) {
      rest_.remove_prefix(size);
      if (field.value > rest_.size()) return false;
      size = static_cast<std::size_t>(field.value);
      field.bytes = rest_.substr(0, size);
    }
  }
  rest_.remove_prefix(size);
  is_broken_ = false;
  return true;
}

bool WireStream::fill(std::size_t count) {
  while (end_ - at_ < count) {
    if (at_ > 0) std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    // A false length costs no memory.
    if (buffer_.size() - end_ < kBlock) buffer_.resize(std::max(2 * buffer_.size(), 2 * kBlock));
    const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

void WireStream::advance(std::size_t count) {
  at_ += count;
  offset_ += count;
}

WireStream::Next WireStream::next_varint(std::uint64_t& value, std::uint64_t end) {
  if (offset_ >= end) return offset_ == end ? Next::kOver : Next::kBroken;
  if (!fill(kLongestVarint) && end_ == at_) return Next::kOver;
  const std::string_view bytes =
      buffered().substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(end - offset_, kLongestVarint)));
  const std::size_t size = read_varint(bytes, value);
  if (size > 0) {
    advance(size);
    return Next::kField;
  }
  return bytes.size() < kLongestVarint && bytes.size() < end - offset_ ? Next::kCutOff : Next::kBroken;
}

WireStream::Next WireStream::next(WireField& field, std::uint64_t end) {
  std::uint64_t tag = 0;
  if (const Next got = next_varint(tag, end); got != Next::kField) return got;
  if (!read_tag(tag, field)) return Next::kBroken;
  field.bytes = {};
  if (field.type == WireType::kFixed64 || field.type == WireType::kFixed32) {
    const std::size_t size = fixed_size(field.type);
    if (end - offset_ < size) return Next::kBroken;
    if (!fill(size)) return Next::kCutOff;
    field.value = read_fixed(buffered(), size);
    advance(size);
    return Next::kField;
  }
  const Next got = next_varint(field.value, end);
  if (got == Next::kOver) return end == UINT64_MAX ? Next::kCutOff : Next::kBroken;
  if (got != Next::kField) return got;
  if (field.type == WireType::kBytes && field.value > end - offset_) return Next::kBroken;
  return Next::kField;
}

std::optional<std::string_view> WireStream::take(std::uint64_t count) {
  const auto size = static_cast<std::size_t>(count);
  if (count > kLargest || !fill(size)) return std::nullopt;
  const std::string_view bytes = buffered().substr(0, size);
  advance(size);
  return bytes;
}

bool WireStream::pass(std::uint64_t count) {
  while (count > 0) {
    if (at_ == end_ && !fill(1)) return false;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(count, end_ - at_));
    advance(size);
    count -= size;
  }
  return true;
}

bool is_readable(std::string_view bytes) {
  return std::ranges::all_of(bytes,
                             [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
}

}  // namespace headroom::trace::readers
