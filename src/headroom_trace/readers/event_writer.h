// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/json/json_scan.h"
#include "headroom_trace/readers/batch.h"
#include "headroom_trace/readers/event_fields.h"
#include "headroom_trace/readers/event_reader.h"
#include "headroom_trace/readers/event_rewriter.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/readers/trace_assembly.h"

namespace headroom::trace::readers {

/// Where an event is drawn: numbers, or text.
struct Place {
  std::string_view pid, tid;
};

/// An event of a format other than Chrome's.
struct WrittenEvent {
  Category category = Category::kOther;
  std::string_view name{};
  Place place{};
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;      ///< ignored for instants
  std::string_view arguments{};      ///< members of a JSON object with Kineto's names
  std::uint64_t offset = 0;          ///< byte of the (unpacked) file
  bool is_instant = false;           ///< an allocation: "[memory]"
  std::string_view stack_json{};     ///< for allocations, the "Call stack" as JSON: long and often repeated
  std::string_view category_text{};  ///< for kOther, as in the file
};

/// Takes the events of formats other than Chrome's as the JSON that Kineto would have written. One code path
/// decides what they mean, what is skipped and what is reported, and any format can be converted.
class EventWriter {
 public:
  /// With a sink the events go to it instead of into columns.
  EventWriter(Trace& trace, const ReadOptions& options, const RewriteSink* sink = nullptr);

  /// Whether events of the category are kept; report the others to count_unneeded().
  bool wants(Category category) const { return sink_ != nullptr || has(options_.needs, need_of(category)); }
  bool wants_memory() const { return sink_ != nullptr || has(options_.needs, Needs::kMemory); }

  void add(const WrittenEvent& event);
  void name_process(std::string_view pid, std::string_view name, std::string_view labels = {});
  void name_thread(Place place, std::string_view name);
  /// Adds a top-level member of a Chrome trace: deviceProperties, distributedInfo, ...
  void member(std::string_view key, std::string_view json, std::uint64_t offset);

  /// Counts events that nobody needs or no column holds.
  void count_unneeded(std::uint64_t count = 1);
  void count_without_columns(std::uint64_t count = 1);
  /// Reports an event that cannot be read.
  void skip(std::uint64_t offset, std::string what) {
    ++batch_.seen;
    batch_.skip_event(offset, std::move(what));
  }
  /// Reports any other problem.
  void problem(std::uint64_t offset, std::string what) { batch_.add_problem(offset, std::move(what)); }
  /// Reports that the file is truncated.
  void cut_off(std::uint64_t offset, std::string what);

  /// Throws Error "interrupted" if the caller asked for it.
  void progress(std::uint64_t done, std::uint64_t size);
  /// Call after the last event; `bytes` is the size of the unpacked file.
  void finish(std::uint64_t bytes);

 private:
  void take_text(std::uint64_t offset, std::string_view stack_json = {});
  void flush();

  Trace& trace_;
  const ReadOptions& options_;
  const RewriteSink* sink_;
  EventReader reader_;
  EventRewriter rewriter_;
  TraceAssembly assembly_;
  Translations known_;
  Batch batch_;
  std::string text_;  ///< the current event
  Structurals tokens_;
};

}  // namespace headroom::trace::readers
