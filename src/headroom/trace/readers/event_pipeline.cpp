// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_pipeline.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "headroom/base/error.h"

namespace headroom::trace::readers {
namespace {

// More threads than this wait for each other to read the file.
constexpr std::size_t kMostThreads = 16;

/// An event that goes on for longer than this is taken for a broken one.
constexpr std::size_t kLongestEvent = std::size_t{1} << 30;

std::size_t thread_count(const ReadOptions& options) {
  if (options.threads > 0) return static_cast<std::size_t>(options.threads);
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&cpus)), 1, kMostThreads);
}

}  // namespace

EventPipeline::EventPipeline(TextFeed& feed, TraceAssembly& assembly, const ReadOptions& options,
                             const RewriteSink* sink)
    : feed_(feed), assembly_(assembly), options_(options), sink_(sink) {
  for (std::size_t i = 0; i <= thread_count(options); ++i) {
    readers_.push_back(std::make_unique<Reader>(options.needs, sink));
  }
}

bool EventPipeline::read_list() {
  stopped_ = exhausted_ = list_ended_ = cut_off_ = false;
  left_over_.clear();
  open_ = {};
  // One window tells whether there is enough to share.
  if (read_next(0)) {
    report_progress();
    std::vector<std::jthread> others;
    for (std::size_t reader = 1; reader + 1 < readers_.size(); ++reader) {
      others.emplace_back([this, reader] { work(reader); });
    }
    work(0);
  }
  if (error_) std::rethrow_exception(error_);
  feed_.put_back(left_over_, left_over_from_);
  return list_ended_ && !cut_off_;
}

void EventPipeline::work(std::size_t reader) {
  try {
    while (read_next(reader)) {
      if (reader == 0) report_progress();
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

bool EventPipeline::read_next(std::size_t reader) {
  std::unique_ptr<Reading> reading = take_next();
  if (!reading) return false;
  const bool is_last = reading->window.is_last;
  read(*reading, reader, is_last);
  finish(std::move(reading));
  return !is_last;
}

std::unique_ptr<EventPipeline::Reading> EventPipeline::take_next() {
  const std::scoped_lock taking(taking_);
  std::unique_ptr<Reading> reading;
  {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return stopped_ || exhausted_ || in_flight_ < 2 * readers_.size(); });
    if (stopped_ || exhausted_) return nullptr;
    ++in_flight_;
    if (!free_.empty()) {
      reading = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!reading) reading = std::make_unique<Reading>();
  reading->window = feed_.take_window(std::move(reading->window.text));
  reading->sequence = next_sequence_++;
  bytes_done_ = feed_.source().done();
  reading->share = feed_.source().size() == 0 ? 0.0
                                              : static_cast<double>(feed_.source().done()) /
                                                    static_cast<double>(feed_.source().size());
  if (reading->window.is_last) {
    const std::scoped_lock lock(mutex_);
    exhausted_ = true;
  }
  return reading;
}

void EventPipeline::read(Reading& reading, std::size_t reader, bool is_last) {
  const std::string_view text = reading.window.text.view();
  Reader& with = *readers_[reader];
  reading.reader = reader;
  reading.batch.clear();
  EventList list(text, reading.window.offset, is_last, with.tokens.find(text), with.events, reading.batch,
                 sink_ != nullptr ? &with.rewriter : nullptr);
  reading.end = list.read(0);
  reading.at = list.at();
  with.events.explain(reading.batch);
}

void EventPipeline::finish(std::unique_ptr<Reading> reading) {
  std::unique_lock lock(mutex_);
  finished_.emplace(reading->sequence, std::move(reading));
  while (!is_appending_ && !finished_.empty() && finished_.begin()->first == next_to_append_) {
    std::unique_ptr<Reading> next = std::move(finished_.begin()->second);
    finished_.erase(finished_.begin());
    is_appending_ = true;
    lock.unlock();
    append(*next);
    lock.lock();
    is_appending_ = false;
    ++next_to_append_;
    --in_flight_;
    stopped_ = stopped_ || list_ended_;
    free_.push_back(std::move(next));
    has_room_.notify_all();
  }
}

void EventPipeline::append(Reading& reading) {
  if (list_ended_) {
    TraceAssembly::learn(reading.batch, readers_[reading.reader]->translations);
    left_over_.push_back(std::move(reading.window));
    return;
  }
  if (open_.text.size() > 0 && !join_with_open_event(reading)) return;
  assembly_.append(reading.batch, readers_[reading.reader]->translations);
  assembly_.expect(reading.share);
  if (!reading.batch.processes.empty()) sink_->processes(reading.batch.processes);
  if (!reading.batch.rewritten.empty()) sink_->events(reading.batch.rewritten);
  switch (reading.end) {
    case EventList::End::kTextEnd:
      break;
    case EventList::End::kOpen:
      open_.offset = reading.window.offset + reading.at;
      open_.text = PaddedText(reading.window.text.view().substr(reading.at));
      open_until_ = 2 * open_.text.size();
      break;
    case EventList::End::kListEnd:
      list_ended_ = true;
      left_over_from_ = reading.at;
      left_over_.push_back(std::move(reading.window));
      break;
    case EventList::End::kCutOff:
      list_ended_ = cut_off_ = reading.window.is_last;
      break;
  }
}

/// Puts the open event in front of the window, and reads it again when there is enough of it: each time twice
/// as much, so that a long event is not read over and over. False when there is not.
bool EventPipeline::join_with_open_event(Reading& reading) {
  TraceAssembly::learn(reading.batch, readers_[reading.reader]->translations);
  const std::string_view more = reading.window.text.view();
  std::memcpy(open_.text.room_for(more.size()), more.data(), more.size());
  open_.text.added(more.size());
  open_.is_last = reading.window.is_last;
  const bool is_too_long = open_.text.size() > kLongestEvent;
  if (open_.text.size() < open_until_ && !open_.is_last && !is_too_long) return false;
  std::swap(reading.window, open_);
  open_.text.shorten(0);
  read(reading, readers_.size() - 1, reading.window.is_last || is_too_long);
  return true;
}

void EventPipeline::report_progress() {
  if (options_.is_cancelled && options_.is_cancelled()) throw Error("interrupted");
  if (options_.progress) options_.progress(bytes_done_, feed_.source().size());
}

void EventPipeline::fail(std::exception_ptr error) {
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = std::move(error);
  stopped_ = true;
  has_room_.notify_all();
}

}  // namespace headroom::trace::readers
