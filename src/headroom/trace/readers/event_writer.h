// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/categories.h"
#include "headroom/trace/readers/event_reader.h"
#include "headroom/trace/readers/event_rewriter.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/readers/tolerant_scan.h"
#include "headroom/trace/readers/trace_assembly.h"

namespace headroom::trace::readers {

/// Where an event is drawn: numbers, or text.
struct Place {
  std::string_view pid, tid;
};

/// An event of a file in another form than Chrome's.
struct WrittenEvent {
  Category category = Category::kOther;
  std::string_view name{};
  Place place{};
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;      ///< of an instant none
  std::string_view arguments{};      ///< members of a JSON object by the names that Kineto gives them
  std::uint64_t offset = 0;          ///< byte of the (unpacked) file
  bool is_instant = false;           ///< an allocation: "[memory]"
  std::string_view stack_json{};     ///< of an allocation, a JSON text: "Call stack", long and often the same
  std::string_view category_text{};  ///< of kOther, as the file has it
};

/// Takes the events of another form than Chrome's. They go the way of those of a Chrome trace, as the JSON
/// that Kineto would have written: what they mean, what is skipped and what is amiss is decided in one place
/// for all forms, and any of them can be converted.
class EventWriter {
 public:
  /// With a sink the events go to it and not into columns.
  EventWriter(Trace& trace, const ReadOptions& options, const RewriteSink* sink = nullptr);

  /// Whether events of the category are kept; those that are not count as count_unneeded().
  bool wants(Category category) const { return sink_ != nullptr || has(options_.needs, need_of(category)); }
  bool wants_memory() const { return sink_ != nullptr || has(options_.needs, Needs::kMemory); }

  void add(const WrittenEvent& event);
  void name_process(std::string_view pid, std::string_view name, std::string_view labels = {});
  void name_thread(Place place, std::string_view name);
  /// What stands beside the events of a Chrome trace: deviceProperties, distributedInfo, ...
  void member(std::string_view key, std::string_view json, std::uint64_t offset);

  /// Events that nobody needs, or that no column holds.
  void count_unneeded(std::uint64_t count = 1);
  void count_without_columns(std::uint64_t count = 1);
  /// An event that cannot be read.
  void skip(std::uint64_t offset, std::string what) {
    ++batch_.seen;
    batch_.skip_event(offset, std::move(what));
  }
  /// Something else that cannot.
  void problem(std::uint64_t offset, std::string what) { batch_.add_problem(offset, std::move(what)); }
  /// The file ends before what it holds does.
  void cut_off(std::uint64_t offset, std::string what);

  /// Throws Error "interrupted" where that is asked for.
  void progress(std::uint64_t done, std::uint64_t size);
  /// After the last event; `bytes` is how many the unpacked file had.
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
  std::string text_;  ///< of the event at hand
  Structurals tokens_;
};

}  // namespace headroom::trace::readers
