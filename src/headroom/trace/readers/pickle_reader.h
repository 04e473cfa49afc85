// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/readers/byte_source.h"
#include "headroom/trace/readers/pickle.h"

namespace headroom::trace::readers {

/// The stack machine of Lib/pickletools.py, as far as plain values need it.
class PickleReader {
 public:
  PickleReader(ByteSource& source, Pickle& pickle) : source_(source), pickle_(pickle), buffer_(kBlock) {}
  void read();

 private:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;

  [[noreturn]] void fail(const std::string& what) const;
  unsigned char byte();
  std::uint64_t number(int bytes);
  void append(std::uint64_t count, std::string& text);
  std::string line();

  bool step(unsigned char opcode);
  bool step_number(unsigned char opcode);
  bool step_text(unsigned char opcode);
  bool step_container(unsigned char opcode);
  bool step_memo(unsigned char opcode);
  bool step_object(unsigned char opcode);

  Id add(Pickle::Node node);
  void push(Id id) { stack_.push_back(id); }
  void push_whole(std::int64_t value, Kind kind = Kind::kWhole);
  void push_text(std::uint64_t size, Kind kind = Kind::kText);
  void push_text(const std::string& text, Kind kind);
  void push_long(std::uint64_t bytes);
  void push_list(Kind kind, std::size_t from);
  Id pop();
  std::size_t pop_mark();
  std::vector<Id>& list_at(std::size_t place);
  void memoize(std::uint64_t at);
  void bound();

  static constexpr std::size_t kBlock = std::size_t{1} << 18;
  ByteSource& source_;
  Pickle& pickle_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
  std::vector<Id> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::uint64_t held_ = 0;  ///< bytes of values, about
};

}  // namespace headroom::trace::readers
