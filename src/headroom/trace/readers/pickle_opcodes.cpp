// SPDX-License-Identifier: Apache-2.0
// What each opcode of a pickle does: Lib/pickletools.py has them all.
#include <fmt/format.h>

#include <bit>

#include "headroom/base/text.h"
#include "headroom/trace/readers/pickle_reader.h"

namespace headroom::trace::readers {

bool PickleReader::step_number(unsigned char opcode) {
  switch (opcode) {
    case 'J':
      push_whole(static_cast<std::int32_t>(number(4)));
      return true;
    case 'K':
      push_whole(static_cast<std::int64_t>(number(1)));
      return true;
    case 'M':
      push_whole(static_cast<std::int64_t>(number(2)));
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
      push_whole(to_integer(text).value_or(0));
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
      push_whole(0, Kind::kNone);
      return true;
    case 0x88:
    case 0x89:
      push_whole(opcode == 0x88 ? 1 : 0, Kind::kBool);
      return true;
    default:
      return false;
  }
}

bool PickleReader::step_text(unsigned char opcode) {
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

bool PickleReader::step_container(unsigned char opcode) {
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

bool PickleReader::step_memo(unsigned char opcode) {
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
  if (at >= memo_.size() || memo_[at] == Pickle::kAbsent) fail("a value is asked for that was not kept");
  held_ += sizeof(Id);
  push(memo_[at]);
  return true;
}

/// Classes are not looked for and objects not made: what stands for one is its class's name.
bool PickleReader::step_object(unsigned char opcode) {
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

/// False at the end.
bool PickleReader::step(unsigned char opcode) {
  switch (opcode) {
    case '.':
      return false;
    case 0x80:
      number(1);
      return true;
    case 0x95:
      number(8);  // a frame: how much to read at a time
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
    fail(fmt::format("it is no pickle, or damaged: 0x{:02x} is no opcode,", opcode));
  return true;
}

void PickleReader::read() {
  while (step(byte())) {
  }
  pickle_.root_ = pop();
  pickle_.bytes_read_ = offset_;
}

}  // namespace headroom::trace::readers
