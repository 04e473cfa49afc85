// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/pickle_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"

namespace headroom::trace::readers {

void PickleReader::fail(const std::string& what) const {
  throw Error(fmt::format("{} at byte {}; write the file again", what, offset_));
}

unsigned char PickleReader::byte() {
  if (at_ == end_) {
    end_ = source_.read(buffer_.data(), buffer_.size());
    at_ = 0;
    if (end_ == 0) fail("it is cut off");
  }
  ++offset_;
  return static_cast<unsigned char>(buffer_[at_++]);
}

/// Little-endian.
std::uint64_t PickleReader::number(int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
  return value;
}

/// Piece by piece: a length that promises more than there is costs no memory.
void PickleReader::append(std::uint64_t count, std::string& text) {
  while (count > 0) {
    text += static_cast<char>(byte());
    --count;
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, end_ - at_));
    text.append(buffer_.data() + at_, piece);
    at_ += piece;
    offset_ += piece;
    count -= piece;
    held_ += piece;
    bound();
  }
}

std::string PickleReader::line() {
  std::string text;
  constexpr std::size_t kLongest = 1 << 20;
  for (unsigned char c = byte(); c != '\n'; c = byte()) {
    text += static_cast<char>(c);
    if (text.size() > kLongest) fail("a line has no end");
  }
  return text;
}

void PickleReader::bound() {
  if (held_ > Pickle::kMostBytes) fail("it holds more than 4 GiB of values, which is more than is read");
}

PickleReader::Id PickleReader::add(Pickle::Node node) {
  held_ += sizeof node + sizeof(Id);
  bound();
  pickle_.nodes_.push_back(node);
  return static_cast<Id>(pickle_.nodes_.size() - 1);
}

void PickleReader::push_whole(std::int64_t value, Kind kind) {
  Pickle::Node node{.kind = kind, .size = 0, .whole = value};
  push(add(node));
}

void PickleReader::push_text(std::uint64_t size, Kind kind) {
  if (size > UINT32_MAX) fail("a text is longer than the file can be");
  Pickle::Node node{.kind = kind, .size = static_cast<std::uint32_t>(size), .whole = 0};
  node.place = pickle_.texts_.size();
  append(size, pickle_.texts_);
  push(add(node));
}

void PickleReader::push_text(const std::string& text, Kind kind) {
  Pickle::Node node{.kind = kind, .size = static_cast<std::uint32_t>(text.size()), .whole = 0};
  node.place = pickle_.texts_.size();
  pickle_.texts_ += text;
  held_ += text.size();
  push(add(node));
}

/// A whole number of any size; beyond 64 bits it wraps.
void PickleReader::push_long(std::uint64_t bytes) {
  std::uint64_t value = 0;
  unsigned char last = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    last = byte();
    if (i < 8) value |= static_cast<std::uint64_t>(last) << (8 * i);
  }
  if (bytes > 0 && bytes < 8 && last >= 0x80) value |= ~std::uint64_t{0} << (8 * bytes);
  push_whole(static_cast<std::int64_t>(value));
}

PickleReader::Id PickleReader::pop() {
  if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) fail("a value is missing");
  const Id id = stack_.back();
  stack_.pop_back();
  return id;
}

std::size_t PickleReader::pop_mark() {
  if (marks_.empty()) fail("a mark is missing");
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  return mark;
}

/// Of what stands on the stack from there on.
void PickleReader::push_list(Kind kind, std::size_t from) {
  Pickle::Node node{.kind = kind, .size = 0, .whole = 0};
  node.place = pickle_.lists_.size();
  pickle_.lists_.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  held_ += sizeof(std::vector<Id>) + sizeof(Id) * (stack_.size() - from);
  stack_.resize(from);
  push(add(node));
}

/// The elements of the container that is the stack's value at `place`; of an object nobody looks at them.
std::vector<Pickle::Id>& PickleReader::list_at(std::size_t place) {
  if (place >= stack_.size()) fail("a container is missing");
  const Pickle::Node& node = pickle_.nodes_[stack_[place]];
  if (node.kind == Kind::kOther) {
    static thread_local std::vector<Id> ignored;
    ignored.clear();
    return ignored;
  }
  if (node.kind != Kind::kList && node.kind != Kind::kDict)
    fail("a value is put into something that holds none");
  return pickle_.lists_[node.place];
}

void PickleReader::memoize(std::uint64_t at) {
  if (stack_.empty()) fail("a value is missing");
  // They are numbered from 0 on; far beyond what there can be is no number of one.
  if (at > offset_) fail("a value is kept under a number that is out of range");
  if (at >= memo_.size()) {
    held_ += sizeof(Id) * (at + 1 - memo_.size());
    bound();
    memo_.resize(at + 1, Pickle::kAbsent);
  }
  memo_[at] = stack_.back();
}

}  // namespace headroom::trace::readers
