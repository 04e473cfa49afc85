// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "headroom/trace/readers/event_list.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/readers/text_feed.h"
#include "headroom/trace/readers/token_index.h"
#include "headroom/trace/readers/trace_assembly.h"

namespace headroom::trace::readers {

/// Reads a list of events with several threads: each takes the next window of the text and reads it as if it
/// began outside of any event, which its cut made very likely. The results are appended in order. Where a
/// window turns out to have ended inside an event, what was read of the following one is thrown away and read
/// again with the rest of that event in front: guessing costs time when it goes wrong, never events.
class EventPipeline {
 public:
  /// With a sink the events are written again for it, and no columns are made.
  EventPipeline(TextFeed& feed, TraceAssembly& assembly, const ReadOptions& options,
                const RewriteSink* sink = nullptr);

  /// Reads from where the feed is, inside the list, to one past its ], and leaves the feed there. False when
  /// the text ends before the ].
  bool read_list();

 private:
  struct Reading {
    Window window;
    Batch batch;
    EventList::End end = EventList::End::kTextEnd;
    std::uint32_t at = 0;
    std::size_t reader = 0;
    std::uint64_t sequence = 0;
    double share = 0;  ///< of the file that was read up to its end
  };
  /// What one thread reads with.
  struct Reader {
    Reader(Needs needs, const RewriteSink* sink)
        : events(needs), rewriter(sink != nullptr ? sink->mark : nullptr) {}
    EventReader events;
    EventRewriter rewriter;
    TokenIndex tokens;
    Translations translations;  ///< used by whoever appends
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
  std::vector<std::unique_ptr<Reader>> readers_;  ///< one a thread, and one more to read again with

  std::mutex taking_;  ///< held while the feed is read
  std::uint64_t next_sequence_ = 0;
  std::atomic<std::uint64_t> bytes_done_ = 0;

  std::mutex mutex_;  ///< of everything up to the next empty line
  std::condition_variable has_room_;
  std::map<std::uint64_t, std::unique_ptr<Reading>> finished_;
  std::vector<std::unique_ptr<Reading>> free_;
  std::size_t in_flight_ = 0;
  std::uint64_t next_to_append_ = 0;
  bool is_appending_ = false, stopped_ = false, exhausted_ = false;
  std::exception_ptr error_;

  // Of the one thread that appends.
  Window open_;  ///< an event that the windows so far have not ended
  std::size_t open_until_ = 0;
  bool list_ended_ = false, cut_off_ = false;
  std::vector<Window> left_over_;  ///< read ahead of the end of the list
  std::size_t left_over_from_ = 0;
};

}  // namespace headroom::trace::readers
