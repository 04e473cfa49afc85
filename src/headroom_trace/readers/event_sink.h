// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headroom/base/json.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/batch.h"
#include "headroom_trace/readers/event_arguments.h"
#include "headroom_trace/readers/event_fields.h"
#include "headroom_trace/readers/event_rewriter.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/readers/trace_assembly.h"

namespace headroom::trace::readers {

/// Numbers or text.
struct Place {
  std::string_view pid, tid;
};

/// An event of a format other than Chrome's.
struct TypedEvent {
  Category category = Category::kOther;
  std::string_view name{};
  Place place{};
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;  ///< ignored for allocations
  const EventArguments& arguments;
  std::uint64_t offset = 0;          ///< in the unpacked file
  bool is_allocation = false;        ///< or free
  std::string_view stack{};          ///< long and often repeated
  std::string_view category_text{};  ///< for kOther, as in the file
};

/// Takes the events of other formats, for reading and conversion alike.
class EventSink {
 public:
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  /// Report others to count_unneeded().
  bool wants(Category category) const { return has(needs_, need_of(category)); }

  void add(const TypedEvent& event);
  void name_process(std::string_view pid, std::string_view name, std::string_view labels = {});
  void name_thread(Place place, std::string_view name);
  /// Adds a top-level member of a Chrome trace: deviceProperties, memory_pools.
  virtual void member(std::string_view key, const Json& value, std::uint64_t offset) = 0;
  virtual void json_member(std::string_view key, std::string_view json, std::uint64_t offset) = 0;

  void count_unneeded() { ++batch_.seen, ++batch_.skipped_by_need; }
  void count_without_columns() { ++batch_.seen, ++batch_.without_columns; }
  /// Reports an unreadable event.
  void skip(std::uint64_t offset, std::string what) {
    ++batch_.seen;
    batch_.skip_event(offset, std::move(what));
  }
  void problem(std::uint64_t offset, std::string what) { batch_.add_problem(offset, std::move(what)); }
  /// Reports a truncated file.
  void cut_off(std::uint64_t offset, std::string what);

  /// Throws Error "interrupted" on cancellation.
  void progress(std::uint64_t done, std::uint64_t size);
  /// Call after the last event; `bytes`: size of the unpacked file.
  void finish(std::uint64_t bytes);

 protected:
  EventSink(Trace& trace, const ReadOptions& options, Needs needs);
  /// Takes a needed event with valid times.
  virtual void take(const TypedEvent& event) = 0;
  virtual void take_name(NameEvent::What what, Place place, std::string_view name) = 0;
  void skip_time(const TypedEvent& event);
  /// Called before the batch is handed on.
  virtual void complete() = 0;

  Trace& trace_;
  const Needs needs_;
  Batch batch_;

 private:
  void take_name_and_count(NameEvent::What what, Place place, std::string_view name);
  void flush_full();
  void flush();

  const ReadOptions& options_;
  TraceAssembly assembly_;
  Translations known_{LocalNames::Form::kPlain};
};

std::unique_ptr<EventSink> column_sink(Trace& trace, const ReadOptions& options);
/// Writes Kineto's JSON; the trace gets only facts about the file.
std::unique_ptr<EventSink> chrome_json_sink(Trace& trace, const ReadOptions& options, const RewriteSink& out);

}  // namespace headroom::trace::readers
