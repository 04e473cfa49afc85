// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/chrome_trace.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/strict_json.h"

namespace headroom::trace::readers {
namespace {

constexpr std::size_t kMostThreads = 16;

/// Longer events are considered broken.
constexpr std::size_t kLongestEvent = std::size_t{1} << 30;

std::size_t thread_count(const ReadOptions& options) {
  if (options.threads > 0) return static_cast<std::size_t>(options.threads);
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&cpus)), 1, kMostThreads);
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kListKey = "\"traceEvents\"";
constexpr std::size_t kLongestKey = std::size_t{1} << 16;
constexpr std::size_t kLongestMetadata = std::size_t{1} << 28;
/// Overlap of searched chunks.
constexpr std::size_t kOverlap = 4096;

/// Returns the offset of the list's key.
std::size_t find_list(std::string_view text) {
  for (std::size_t at = text.find(kListKey); at != text.npos; at = text.find(kListKey, at + 1)) {
    std::uint32_t after = skip_space(text, static_cast<std::uint32_t>(at + kListKey.size()));
    if (after >= text.size() || text[after] != ':') continue;
    after = skip_space(text, after + 1);
    if (after < text.size() && text[after] == '[') return at;
  }
  return text.npos;
}

}  // namespace

EventList::End EventList::read(std::uint32_t at) {
  at_ = at;
  for (;;) {
    at_ = skip_space(text_, at_);
    if (at_ >= text_.size()) return is_last_ ? End::kCutOff : End::kTextEnd;
    const char c = text_[at_];
    if (c == '{') {
      if (!read_event()) return is_last_ ? End::kCutOff : End::kOpen;
    } else if (c == ',') {
      ++at_;
      after_event_ = false;
    } else if (c == ']') {
      ++at_;
      return End::kListEnd;
    } else if (c == '}') {
      batch_.add_problem(offset_ + at_, "an unmatched }");
      ++at_;
    } else if (!skip_other_element()) {
      return is_last_ ? End::kCutOff : End::kOpen;
    }
  }
}

bool EventList::read_event() {
  if (after_event_) batch_.add_problem(offset_ + at_, "no comma between two events");
  after_event_ = true;
  return read_by_tokens() || scan_event();
}

bool EventList::read_by_tokens() {
  if (tokens_.empty()) return false;
  while (token_ + 1 < tokens_.size() && tokens_[token_] < at_) ++token_;
  if (tokens_[token_] != at_) return false;
  const Walk after = take({text_.data(), &tokens_[token_]}, at_);
  if (after.at == nullptr) return false;
  at_ = after.at[-1] + 1;
  token_ = static_cast<std::size_t>(after.at - tokens_.data());
  return true;
}

bool EventList::scan_event() {
  structurals_.clear();
  const std::uint32_t start = at_;
  const Scan scan = scan_value(text_, start, structurals_);
  if (scan.end == Scan::End::kBroken) return recover(start, scan.at, scan.what);
  if (scan.end == Scan::End::kOpen) {
    if (!is_last_) return false;
    return recover(start, static_cast<std::uint32_t>(text_.size()), "the text ends inside it");
  }
  if (take({text_.data(), structurals_.data()}, start).at == nullptr) {
    ++batch_.seen;
    batch_.skip_event(offset_ + start, "an event that cannot be read");
  } else if (scan.had_control) {
    batch_.add_problem(offset_ + start, "an unescaped control character in a string of this event");
  } else if (scan.had_inner_quote) {
    batch_.add_problem(offset_ + start, "an unescaped quote in a string of this event");
  }
  at_ = scan.at;
  return true;
}

bool EventList::skip_other_element() {
  structurals_.clear();
  const std::uint32_t start = at_;
  const Scan scan = scan_value(text_, start, structurals_);
  const bool is_complete = scan.end == Scan::End::kComplete;
  const std::uint32_t next = is_complete ? skip_space(text_, scan.at) : scan.at;
  if (!is_last_ && (scan.end == Scan::End::kOpen || next >= text_.size())) return false;
  const bool is_element =
      is_complete && next < text_.size() && (text_[next] == ',' || text_[next] == ']' || text_[next] == '{');
  if (!is_element) return recover(start, next, "not an event");
  ++batch_.seen;
  batch_.skip_event(offset_ + start, "a list element that is not an event");
  at_ = scan.at;
  after_event_ = false;
  return true;
}

/// Counts an event as lost and moves to the next or the end of the list.
bool EventList::recover(std::uint32_t from, std::uint32_t broken_at, const char* what) {
  const std::size_t next = next_event(text_, from + 1);
  const std::uint32_t list_end = find_list_end(from, next);
  const bool found = next != kNoBoundary || list_end != kNone;
  if (!found && !is_last_) return false;
  ++batch_.seen;
  batch_.skip_event(offset_ + from,
                    fmt::format("an event that cannot be read: {}, at byte {}", what, offset_ + broken_at));
  at_ = static_cast<std::uint32_t>(std::min<std::size_t>({next, list_end, text_.size()}));
  after_event_ = false;
  return found;
}

/// A ] after }, before the end of the file or another member.
std::uint32_t EventList::find_list_end(std::uint32_t from, std::size_t to) const {
  const std::string_view text = text_.substr(0, to);
  for (std::size_t at = text.find(']', from); at != text.npos; at = text.find(']', at + 1)) {
    const std::size_t before = at == 0 ? text.npos : text.find_last_not_of(" \n\r\t", at - 1);
    if (before == text.npos || text[before] != '}') continue;
    std::uint32_t after = skip_space(text, static_cast<std::uint32_t>(at + 1));
    if (after < text.size() && text[after] == ',') {
      after = skip_space(text, after + 1);
      if (after >= text.size() || text[after] != '"') continue;
      const std::size_t quote = text.find('"', after + 1);
      if (quote == text.npos) continue;
      after = skip_space(text, static_cast<std::uint32_t>(quote + 1));
      if (after < text.size() && text[after] == ':') return static_cast<std::uint32_t>(at);
      continue;
    }
    if (after < text.size() && text[after] == '}') after = skip_space(text, after + 1);
    if (after >= text_.size() && is_last_) return static_cast<std::uint32_t>(at);
  }
  return kNone;
}

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
  with.events.flush_tables(reading.batch);
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

/// Reads the open event with the window, each time with twice as much text. Returns false if there is too
/// little.
bool EventPipeline::join_with_open_event(Reading& reading) {
  TraceAssembly::learn(reading.batch, readers_[reading.reader]->translations);
  const std::string_view more = reading.window.text.view();
  std::memcpy(open_.text.reserve_space(more.size()), more.data(), more.size());
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

void Document::read() {
  feed_.grow();
  first_text_ = feed_.text().substr(0, 64);
  if (feed_.text().starts_with(kByteOrderMark)) feed_.consume(kByteOrderMark.size());
  const int first = feed_.peek();
  if (first != '[' && first != '{') throw_not_a_trace();
  feed_.consume(1);
  if (first == '[') {
    read_list();
  } else {
    read_members();
    while (!has_list_ && seek_event_list()) {
      add_problem("the list of events is not where it should be");
      read_members();
    }
  }
  if (!has_list_) throw_not_a_trace();
  read_rest();
  check_syntax();
  assembly_.finish();
  trace_.json_bytes = feed_.offset();
}

void Document::read_members() {
  for (;;) {
    const int c = feed_.peek();
    if (c == '}') return feed_.consume(1);
    if (c == ',') {
      feed_.consume(1);
    } else if (c == TextFeed::kEnd) {
      trace_.is_complete = false;
      return;
    } else if (c != '"' || !read_member()) {
      return;
    }
  }
}

bool Document::read_member() {
  const Scan key = feed_.scan_whole(kLongestKey);
  if (key.end != Scan::End::kComplete) {
    if (key.end == Scan::End::kOpen) trace_.is_complete = false;
    add_problem("the name of a member has no end");
    return false;
  }
  const std::string name(without_quotes(feed_.text().substr(0, key.at)));
  feed_.consume(key.at);
  if (const int colon = feed_.peek(); colon != ':') {
    if (colon == TextFeed::kEnd) trace_.is_complete = false;
    add_problem(fmt::format("{} has no value", quote(name)));
    return false;
  }
  feed_.consume(1);
  if (feed_.peek() == '[' && name == "traceEvents") {
    feed_.consume(1);
    read_list();
    return true;
  }
  if (!is_metadata_key(name)) return (sink_ != nullptr && rewrite_member(name)) || skip_value();
  const Scan value = feed_.scan_whole(kLongestMetadata);
  if (value.end != Scan::End::kComplete) {
    if (value.end == Scan::End::kOpen) trace_.is_complete = false;
    add_problem(fmt::format("{} cannot be read: {}", quote(name),
                            value.end == Scan::End::kBroken ? value.what : "it has no end"));
    return false;
  }
  if (sink_ != nullptr) sink_->member(clean_text(name).text, clean_json(feed_.text().substr(0, value.at)));
  read_metadata(name, feed_.text().substr(0, value.at), feed_.offset(), trace_);
  feed_.consume(value.at);
  return true;
}

/// Returns false, consuming nothing, for a broken or too long value.
bool Document::rewrite_member(const std::string& name) {
  const Scan value = feed_.scan_whole(kLongestMetadata);
  if (value.end != Scan::End::kComplete) return false;
  const std::string json = clean_json(feed_.text().substr(0, value.at));
  if (json.empty()) return false;
  sink_->member(clean_text(name).text, json);
  feed_.consume(value.at);
  return true;
}

void Document::read_list() {
  has_list_ = true;
  if (!events_.read_list()) trace_.is_complete = false;
}

/// After a premature end of the list.
void Document::read_rest() {
  while (feed_.peek() != TextFeed::kEnd) {
    const std::size_t next = next_event(feed_.text(), 0);
    if (next != kNoBoundary) {
      add_problem("the list of events seems to end here, but more of them follow");
      feed_.consume(next);
      read_list();
      if (feed_.peek() == ',' || feed_.peek() == '}') read_members();
      continue;
    }
    const std::size_t size = feed_.text().size();
    if (feed_.grow()) {
      if (size > kOverlap) feed_.consume(size - kOverlap);
      continue;
    }
    add_problem("the text goes on after the end of the trace");
    feed_.consume(feed_.text().size());
  }
}

/// Stops at a list of events inside the value: after an unescaped quote the rest of the file can look like
/// one value.
bool Document::skip_value() {
  ValueSkipper skip;
  std::size_t searched = 0;
  for (;;) {
    const std::string_view text = feed_.text();
    searched += skip.take(text.substr(searched));
    if (const std::size_t list = has_list_ ? text.npos : find_list(text); list < searched) {
      add_problem("a list of events inside another member");
      feed_.consume(list);
      return true;
    }
    if (skip.is_over()) {
      feed_.consume(searched);
      return true;
    }
    const std::size_t done = has_list_ ? searched : searched - std::min(searched, kOverlap);
    feed_.consume(done);
    searched -= done;
    if (feed_.grow()) continue;
    feed_.consume(searched);
    trace_.is_complete = false;
    return true;
  }
}

bool Document::seek_event_list() {
  for (;;) {
    const std::size_t at = find_list(feed_.text());
    if (at != std::string_view::npos) {
      feed_.consume(at);
      return true;
    }
    const std::size_t size = feed_.text().size();
    feed_.consume(size - std::min(size, kOverlap));
    if (!feed_.grow()) return false;
  }
}

void Document::add_problem(std::string what) {
  append(trace_.problems, {1, 0, {{feed_.offset(), std::move(what)}}});
}

/// Only without other problems, which have better locations.
void Document::check_syntax() {
  if (!syntax_ || !trace_.is_complete || trace_.problems.count > 0) return;
  if (const auto& fault = syntax_->fault()) {
    append(trace_.problems, {1, 0, {{fault->offset, fmt::format("invalid JSON: {}", fault->what)}}});
  }
}

void Document::throw_not_a_trace() const {
  const std::string_view text = first_text_;
  const std::uint32_t at = skip_space(text, 0);
  if (at >= text.size()) throw Error("it is empty; write the trace again");
  constexpr std::string_view kFeederGraph = "\"workload_graph\"";
  if (text[at] == '{' && text.find(kFeederGraph) != text.npos) {
    throw Error(
        "not a trace: it looks like a graph for Chakra's feeder (workload_graph), which has no start times; "
        "give the Kineto trace that it was made from, or the execution trace (.et)");
  }
  if (text[at] == '{') {
    throw Error("no list of events (traceEvents) in this JSON; give a trace written by a profiler");
  }
  throw Error(fmt::format("not a Chrome trace: it starts with {}; give JSON written by a profiler",
                          quote(text.substr(at, 20))));
}

}  // namespace headroom::trace::readers
