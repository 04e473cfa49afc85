// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headroom/trace/readers/event_pipeline.h"
#include "headroom/trace/readers/json_syntax.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/readers/text_feed.h"
#include "headroom/trace/readers/tolerant_scan.h"
#include "headroom/trace/readers/trace_assembly.h"

namespace headroom::trace::readers {

/// Reads a whole trace: an object with a list of events among its members, or the list alone.
class Document {
 public:
  /// With a sink the events and the other members are written again for it, and no columns are made.
  Document(ByteSource& source, const ReadOptions& options, Trace& trace, const RewriteSink* sink = nullptr)
      : trace_(trace),
        feed_(source, options.window_bytes),
        assembly_(trace, options.needs),
        events_(feed_, assembly_, options, sink),
        sink_(sink) {
    if (has(options.needs, Needs::kSyntax)) feed_.watch(syntax_.emplace());
  }

  /// Throws Error when the text is no trace.
  void read();

 private:
  void read_members();
  bool read_member();
  void read_list();
  void read_rest();
  bool skip_value();
  bool rewrite_member(const std::string& name);
  bool go_to_list_of_events();
  void add_problem(std::string what);
  void check_syntax();
  [[noreturn]] void fail_as_no_trace() const;

  Trace& trace_;
  std::optional<JsonSyntax> syntax_;
  TextFeed feed_;
  TraceAssembly assembly_;
  EventPipeline events_;
  const RewriteSink* sink_;
  std::string first_text_;  ///< what the file starts with
  bool has_list_ = false;
};

}  // namespace headroom::trace::readers
