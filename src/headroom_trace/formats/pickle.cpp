// SPDX-License-Identifier: Apache-2.0
// Opcodes: Lib/pickletools.py.

#include "headroom_trace/formats/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::trace::readers {

class PickleReader {
 public:
  PickleReader(ByteSource& source, Pickle& pickle) : source_(source), pickle_(pickle), buffer_(kBlock) {}

  void read() {
    while (step(byte())) {
    }
    pickle_.root_ = pop();
    pickle_.bytes_read_ = offset_;
  }

 private:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{} at byte {}; write the file again", what, offset_));
  }

  unsigned char byte() {
    if (at_ == end_) {
      end_ = source_.read(buffer_.data(), buffer_.size());
      at_ = 0;
      if (end_ == 0) fail("it is truncated");
    }
    ++offset_;
    return static_cast<unsigned char>(buffer_[at_++]);
  }

  /// Little-endian.
  std::uint64_t number(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
    return value;
  }

  /// A false length costs no memory.
  void append(std::uint64_t count, std::string& text) {
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

  std::string line() {
    std::string text;
    constexpr std::size_t kLongest = 1 << 20;
    for (unsigned char c = byte(); c != '\n'; c = byte()) {
      text += static_cast<char>(c);
      if (text.size() > kLongest) fail("a line has no end");
    }
    return text;
  }

  /// Returns false at the end.
  bool step(unsigned char opcode) {
    switch (opcode) {
      case '.':
        return false;
      case 0x80:
        number(1);
        return true;
      case 0x95:
        number(8);  // frame length
        return true;
      case '(':
        marks_.push_back(stack_.size());
        held_ += sizeof(std::size_t);
        bound();
        return true;
      case '0':
        pop();
        return true;
      case '1':
        stack_.resize(pop_mark());
        return true;
      case '2':
        push(pop());
        push(stack_.back());
        held_ += sizeof(Id);
        return true;
      default:
        break;
    }
    if (!step_number(opcode) && !step_text(opcode) && !step_container(opcode) && !step_memo(opcode) &&
        !step_object(opcode))
      fail(fmt::format("not a pickle, or damaged: unknown opcode 0x{:02x}", opcode));
    return true;
  }

  bool step_number(unsigned char opcode) {
    switch (opcode) {
      case 'J':
        push_integer(static_cast<std::int32_t>(number(4)));
        return true;
      case 'K':
        push_integer(static_cast<std::int64_t>(number(1)));
        return true;
      case 'M':
        push_integer(static_cast<std::int64_t>(number(2)));
        return true;
      case 0x8a:
        push_long(number(1));
        return true;
      case 0x8b:
        push_long(number(4));
        return true;
      case 'I':
      case 'L': {
        std::string text = line();
        if (text.ends_with('L')) text.pop_back();
        push_integer(to_integer(text).value_or(0));
        return true;
      }
      case 'F':
      case 'G': {
        Pickle::Node node{.kind = Kind::kReal, .size = 0, .whole = 0};
        std::uint64_t bits = 0;
        if (opcode == 'G') {
          for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
          node.real = std::bit_cast<double>(bits);
        } else {
          node.real = to_number(line()).value_or(0);
        }
        push(add(node));
        return true;
      }
      case 'N':
        push_integer(0, Kind::kNone);
        return true;
      case 0x88:
      case 0x89:
        push_integer(opcode == 0x88 ? 1 : 0, Kind::kBool);
        return true;
      default:
        return false;
    }
  }

  bool step_text(unsigned char opcode) {
    switch (opcode) {
      case 'X':
      case 'T':
      case 'B':
        push_text(number(4));
        return true;
      case 0x8c:
      case 'U':
      case 'C':
        push_text(number(1));
        return true;
      case 0x8d:
      case 0x8e:
      case 0x96:
        push_text(number(8));
        return true;
      case 'V':
      case 'S':
        push_text(line(), Kind::kText);
        return true;
      default:
        return false;
    }
  }

  bool step_container(unsigned char opcode) {
    const auto move_to = [&](std::size_t container) {
      std::vector<Id>& list = list_at(container);
      held_ += sizeof(Id) * (stack_.size() - container - 1);
      bound();
      list.insert(list.end(), stack_.begin() + static_cast<std::ptrdiff_t>(container) + 1, stack_.end());
      stack_.resize(container + 1);
    };
    const auto least = [&](std::size_t count) {
      const std::size_t from = marks_.empty() ? 0 : marks_.back();
      if (stack_.size() < from + count) fail("a value is missing");
      return stack_.size() - count;
    };
    switch (opcode) {
      case ']':
      case ')':
      case 0x8f:
        push_list(Kind::kList, stack_.size());
        return true;
      case '}':
        push_list(Kind::kDict, stack_.size());
        return true;
      case 'l':
      case 't':
      case 0x91:
        push_list(Kind::kList, pop_mark());
        return true;
      case 'd':
        push_list(Kind::kDict, pop_mark());
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push_list(Kind::kList, least(opcode - 0x84U));
        return true;
      case 'a':
        move_to(least(2));
        return true;
      case 's':
        move_to(least(3));
        return true;
      case 'e':
      case 'u':
      case 0x90: {
        const std::size_t mark = pop_mark();
        if (mark == 0) fail("a container is missing");
        move_to(mark - 1);
        return true;
      }
      default:
        return false;
    }
  }

  bool step_memo(unsigned char opcode) {
    std::uint64_t at = 0;
    switch (opcode) {
      case 'q':
      case 'h':
        at = number(1);
        break;
      case 'r':
      case 'j':
        at = number(4);
        break;
      case 'p':
      case 'g':
        at = static_cast<std::uint64_t>(to_integer(line()).value_or(-1));
        break;
      case 0x94:
        at = memo_.size();
        break;
      default:
        return false;
    }
    if (opcode != 'h' && opcode != 'j' && opcode != 'g') {
      memoize(at);
      return true;
    }
    if (at >= memo_.size() || memo_[at] == Pickle::kAbsent) fail("a value is used that was not stored");
    held_ += sizeof(Id);
    push(memo_[at]);
    return true;
  }

  bool step_object(unsigned char opcode) {
    switch (opcode) {
      case 'c':
      case 'i': {
        std::string name = line();
        name += '.' + line();
        if (opcode == 'i') stack_.resize(pop_mark());
        push_text(name, Kind::kOther);
        return true;
      }
      case 0x93: {
        const Id name = pop(), module = pop();
        push_text(std::string(pickle_.text(module)) + '.' + std::string(pickle_.text(name)), Kind::kOther);
        return true;
      }
      case 'R':
      case 0x81:
      case 'b':
        pop();
        return true;
      case 0x92:
        pop();
        pop();
        return true;
      case 'o': {
        const std::size_t mark = pop_mark();
        if (mark >= stack_.size()) fail("a class is missing");
        stack_.resize(mark + 1);
        return true;
      }
      case 'Q':
        pop();
        push_text(std::string("a persistent object"), Kind::kOther);
        return true;
      case 'P':
        push_text(line(), Kind::kOther);
        return true;
      default:
        return false;
    }
  }

  Id add(Pickle::Node node) {
    held_ += sizeof node + sizeof(Id);
    bound();
    pickle_.nodes_.push_back(node);
    return static_cast<Id>(pickle_.nodes_.size() - 1);
  }
  void push(Id id) { stack_.push_back(id); }

  void push_integer(std::int64_t value, Kind kind = Kind::kInteger) {
    Pickle::Node node{.kind = kind, .size = 0, .whole = value};
    push(add(node));
  }
  void push_text(std::uint64_t size, Kind kind = Kind::kText);
  void push_text(const std::string& text, Kind kind);

  /// Wraps beyond 64 bits.
  void push_long(std::uint64_t bytes) {
    std::uint64_t value = 0;
    unsigned char last = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      last = byte();
      if (i < 8) value |= static_cast<std::uint64_t>(last) << (8 * i);
    }
    if (bytes > 0 && bytes < 8 && last >= 0x80) value |= ~std::uint64_t{0} << (8 * bytes);
    push_integer(static_cast<std::int64_t>(value));
  }

  void push_list(Kind kind, std::size_t from) {
    Pickle::Node node{.kind = kind, .size = 0, .whole = 0};
    node.place = pickle_.lists_.size();
    pickle_.lists_.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    held_ += sizeof(std::vector<Id>) + sizeof(Id) * (stack_.size() - from);
    stack_.resize(from);
    push(add(node));
  }

  Id pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) fail("a value is missing");
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }

  std::size_t pop_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  /// A dummy for objects.
  std::vector<Id>& list_at(std::size_t place) {
    if (place >= stack_.size()) fail("a container is missing");
    const Pickle::Node& node = pickle_.nodes_[stack_[place]];
    if (node.kind == Kind::kOther) {
      static thread_local std::vector<Id> ignored;
      ignored.clear();
      return ignored;
    }
    if (node.kind != Kind::kList && node.kind != Kind::kDict)
      fail("a value is added to something that is not a container");
    return pickle_.lists_[node.place];
  }

  void memoize(std::uint64_t at) {
    if (stack_.empty()) fail("a value is missing");
    // A number cannot exceed the bytes read.
    if (at > offset_) fail("a value is stored under a number that is out of range");
    if (at >= memo_.size()) {
      held_ += sizeof(Id) * (at + 1 - memo_.size());
      bound();
      memo_.resize(at + 1, Pickle::kAbsent);
    }
    memo_[at] = stack_.back();
  }
  void bound();

  static constexpr std::size_t kBlock = std::size_t{1} << 18;
  ByteSource& source_;
  Pickle& pickle_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
  std::vector<Id> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::uint64_t held_ = 0;  ///< approximate
};

void PickleReader::bound() {
  if (held_ > Pickle::kMostBytes) fail("it holds more than the limit of 4 GiB of values");
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

Pickle::Pickle(ByteSource& source) {
  PickleReader(source, *this).read();
}

std::int64_t Pickle::whole(Id value, std::int64_t absent) const {
  switch (kind(value)) {
    case Kind::kInteger:
    case Kind::kBool:
      return nodes_[value].whole;
    case Kind::kReal: {
      const double real = nodes_[value].real;
      return real > -0x1p63 && real < 0x1p63 ? static_cast<std::int64_t>(real) : absent;
    }
    default:
      return absent;
  }
}

std::string_view Pickle::text(Id value) const {
  const Kind of = kind(value);
  if (of != Kind::kText && of != Kind::kOther) return {};
  return std::string_view(texts_).substr(nodes_[value].place, nodes_[value].size);
}

const std::vector<Pickle::Id>& Pickle::list(Id value) const {
  static const std::vector<Id> kNone;
  return kind(value) == Kind::kList ? lists_[nodes_[value].place] : kNone;
}

Pickle::Id Pickle::at(Id dict, std::string_view key) const {
  if (kind(dict) != Kind::kDict) return kAbsent;
  const std::vector<Id>& members = lists_[nodes_[dict].place];
  for (std::size_t i = members.size() / 2; i > 0; --i) {
    if (kind(members[2 * i - 2]) == Kind::kText && text(members[2 * i - 2]) == key) return members[2 * i - 1];
  }
  return kAbsent;
}

}  // namespace headroom::trace::readers
