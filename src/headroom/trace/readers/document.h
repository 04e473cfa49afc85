// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "headroom/trace/read.h"
#include "headroom/trace/readers/event_reader.h"
#include "headroom/trace/readers/tolerant_scan.h"
#include "headroom/trace/readers/trace_builder.h"

namespace headroom::trace {

/// Reads a whole trace: an object with a list of events among its members, or the list alone.
class Document {
 public:
  Document(std::string_view text, const ReadOptions& options, Trace& trace)
      : text_(text), trace_(trace), reader_(options.needs), builder_(trace, options.needs) {}

  /// Throws Error when the text is no trace.
  void read();

 private:
  std::uint32_t read_object(std::uint32_t at);
  std::uint32_t read_member(std::uint32_t at);
  std::uint32_t read_list(std::uint32_t at);
  std::uint32_t after_broken_member(std::uint32_t at, const Scan& scan);
  void add_problem(std::uint64_t offset, std::string what);
  [[noreturn]] void fail_as_no_trace() const;

  std::string_view text_;
  Trace& trace_;
  EventReader reader_;
  TraceBuilder builder_;
  bool has_list_ = false;
};

}  // namespace headroom::trace
