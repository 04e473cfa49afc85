// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_sink.h"

#include "headroom/base/error.h"
#include "headroom_trace/json/strict_json.h"

namespace headroom::trace::readers {
namespace {

constexpr std::uint64_t kMostInBatch = 4096;

std::string microseconds(std::int64_t ns) {
  std::string text;
  append_microseconds(ns, text);
  return text;
}

}  // namespace

EventSink::EventSink(Trace& trace, const ReadOptions& options, Needs needs)
    : trace_(trace), needs_(needs), options_(options), assembly_(trace, needs) {}

void EventSink::add(const TypedEvent& event) {
  ++batch_.seen;
  if (event.is_allocation ? !has(needs_, Needs::kMemory) : !wants(event.category)) {
    ++batch_.skipped_by_need;
  } else if (event.start_ns > kMaxNs || event.start_ns < -kMaxNs) {
    skip_time(event);
  } else if (!event.is_allocation && (event.duration_ns < 0 || event.duration_ns > kMaxNs)) {
    batch_.add_problem(event.offset, duration_error(microseconds(event.duration_ns)));
    TypedEvent sound = event;
    sound.duration_ns = 0;
    take(sound);
  } else {
    take(event);
  }
  flush_full();
}

void EventSink::skip_time(const TypedEvent& event) {
  batch_.skip_event(event.offset, time_error(microseconds(event.start_ns)));
}

void EventSink::name_process(std::string_view pid, std::string_view name, std::string_view labels) {
  if (!name.empty()) take_name_and_count(NameEvent::What::kProcess, {pid, "0"}, name);
  if (!labels.empty()) take_name_and_count(NameEvent::What::kLabels, {pid, "0"}, labels);
}

void EventSink::name_thread(Place place, std::string_view name) {
  take_name_and_count(NameEvent::What::kThread, place, name);
}

void EventSink::take_name_and_count(NameEvent::What what, Place place, std::string_view name) {
  ++batch_.seen;
  take_name(what, place, name);
  flush_full();
}

void EventSink::cut_off(std::uint64_t offset, std::string what) {
  trace_.is_complete = false;
  batch_.add_problem(offset, std::move(what));
}

void EventSink::progress(std::uint64_t done, std::uint64_t size) {
  if (options_.is_cancelled && options_.is_cancelled()) throw Error("interrupted");
  if (options_.progress) options_.progress(done, size);
}

void EventSink::flush_full() {
  if (batch_.seen >= kMostInBatch) flush();
}

void EventSink::flush() {
  complete();
  assembly_.append(batch_, known_);
  batch_.clear();
}

void EventSink::finish(std::uint64_t bytes) {
  flush();
  assembly_.finish();
  trace_.json_bytes = bytes;
}

}  // namespace headroom::trace::readers
