// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/json/json_scan.h"
#include "headroom_trace/json/text_feed.h"
#include "headroom_trace/json/token_index.h"
#include "headroom_trace/readers/batch.h"
#include "headroom_trace/readers/event_reader.h"
#include "headroom_trace/readers/event_rewriter.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/readers/trace_assembly.h"

namespace headroom::trace::readers {

/// Unreadable events are counted, located and skipped.
class EventList {
 public:
  /// `text` starts at byte `offset` and must be readable 64 bytes past its end. `tokens`: offsets of its
  /// tokens and its end, or empty; dropped once wrong (unescaped quotes). `is_last`: nothing follows. With a
  /// rewriter no columns are filled.
  EventList(std::string_view text, std::uint64_t offset, bool is_last, std::span<const std::uint32_t> tokens,
            EventReader& reader, Batch& batch, EventRewriter* rewriter = nullptr)
      : text_(text),
        offset_(offset),
        is_last_(is_last),
        tokens_(tokens),
        reader_(reader),
        rewriter_(rewriter),
        batch_(batch) {}

  enum class End {
    kListEnd,  ///< at() is one past the ]
    kTextEnd,  ///< everything before at() is done
    kOpen,     ///< inside the element at at()
    kCutOff    ///< is_last: no ]
  };
  /// `at` must be outside any element.
  End read(std::uint32_t at);
  std::uint32_t at() const { return at_; }

 private:
  bool read_event();
  bool read_by_tokens();
  Walk take(Walk walk, std::uint32_t at) {
    return rewriter_ != nullptr ? rewriter_->read(walk, offset_ + at, batch_)
                                : reader_.read(walk, offset_ + at, batch_);
  }
  bool scan_event();
  bool skip_other_element();
  bool recover(std::uint32_t from, std::uint32_t broken_at, const char* what);
  std::uint32_t find_list_end(std::uint32_t from, std::size_t to) const;

  std::string_view text_;
  std::uint64_t offset_;
  bool is_last_;
  std::span<const std::uint32_t> tokens_;
  EventReader& reader_;
  EventRewriter* rewriter_;
  Batch& batch_;
  Structurals structurals_;
  std::size_t token_ = 0;
  std::uint32_t at_ = 0;
  bool after_event_ = false;
};

/// Multi-threaded. Each thread takes a window, assumed to begin outside any event; results are appended in
/// order. If a window ends inside an event, the next is read again after the rest of that event: a wrong
/// guess costs time, never events.
class EventPipeline {
 public:
  /// With a sink no columns are made.
  EventPipeline(TextFeed& feed, TraceAssembly& assembly, const ReadOptions& options,
                const RewriteSink* sink = nullptr);

  /// Reads from inside the list to one past its ], where the feed stays. Returns false if the text ends
  /// before.
  bool read_list();

 private:
  struct Reading {
    Window window;
    Batch batch;
    EventList::End end = EventList::End::kTextEnd;
    std::uint32_t at = 0;
    std::size_t reader = 0;
    std::uint64_t sequence = 0;
    double share = 0;  ///< of the file
  };
  struct Reader {
    Reader(Needs needs, const RewriteSink* sink)
        : events(needs), rewriter(sink != nullptr ? sink->remap : nullptr) {}
    EventReader events;
    EventRewriter rewriter;
    TokenIndex tokens;
    Translations translations;
  };

  void work(std::size_t reader);
  bool read_next(std::size_t reader);
  std::unique_ptr<Reading> take_next();
  void read(Reading& reading, std::size_t reader, bool is_last);
  void finish(std::unique_ptr<Reading> reading);
  void append(Reading& reading);
  bool join_with_open_event(Reading& reading);
  void report_progress();
  void fail(std::exception_ptr error);

  TextFeed& feed_;
  TraceAssembly& assembly_;
  const ReadOptions& options_;
  const RewriteSink* sink_;
  std::vector<std::unique_ptr<Reader>> readers_;  ///< one per thread, and one to read windows again

  std::mutex taking_;  ///< guards reading the feed
  std::uint64_t next_sequence_ = 0;
  std::atomic<std::uint64_t> bytes_done_ = 0;

  std::mutex mutex_;  ///< guards everything up to the next empty line
  std::condition_variable has_room_;
  std::map<std::uint64_t, std::unique_ptr<Reading>> finished_;
  std::vector<std::unique_ptr<Reading>> free_;
  std::size_t in_flight_ = 0;
  std::uint64_t next_to_append_ = 0;
  bool is_appending_ = false, stopped_ = false, exhausted_ = false;
  std::exception_ptr error_;

  // Only for the appending thread.
  Window open_;  ///< ends inside an event
  std::size_t open_until_ = 0;
  bool list_ended_ = false, cut_off_ = false;
  std::vector<Window> left_over_;  ///< beyond the list
  std::size_t left_over_from_ = 0;
};

class Document {
 public:
  /// With a sink no columns are made.
  Document(ByteSource& source, const ReadOptions& options, Trace& trace, const RewriteSink* sink = nullptr)
      : trace_(trace),
        feed_(source, options.window_bytes),
        assembly_(trace, options.needs),
        events_(feed_, assembly_, options, sink),
        sink_(sink) {
    if (has(options.needs, Needs::kSyntax)) feed_.watch(syntax_.emplace());
  }

  /// Throws Error if the text is not a trace.
  void read();

 private:
  void read_members();
  bool read_member();
  void read_list();
  void read_rest();
  bool skip_value();
  bool rewrite_member(const std::string& name);
  bool seek_event_list();
  void add_problem(std::string what);
  void check_syntax();
  [[noreturn]] void throw_not_a_trace() const;

  Trace& trace_;
  std::optional<JsonSyntax> syntax_;
  TextFeed feed_;
  TraceAssembly assembly_;
  EventPipeline events_;
  const RewriteSink* sink_;
  std::string first_text_;
  bool has_list_ = false;
};

}  // namespace headroom::trace::readers
