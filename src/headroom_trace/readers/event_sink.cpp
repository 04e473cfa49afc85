// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_sink.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "headroom/base/error.h"
#include "headroom_trace/json/json_scan.h"
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

void EventArguments::clear() {
  all_.clear();
  texts_.clear();
}

bool EventArguments::add_members(std::string_view json) {
  std::string object = "{";
  object += json;
  object += '}';
  Structurals tokens;
  const Scan scan = scan_value(object, 0, tokens);
  if (scan.end != Scan::End::kComplete || scan.at != object.size()) return false;
  const std::size_t before = size();
  std::string value;
  const Walk after = walk_object({object.data(), tokens.data()}, [&](Raw key, Walk at) -> AfterMember {
    const std::string name = clean_text(key).text;
    value.clear();
    at = append_clean_value(at, value);
    if (value.starts_with('"')) {
      add(name, clean_text(without_quotes(value)).text);
    } else {
      add_json(name, value);
    }
    return {at};
  });
  if (after.at == nullptr) keep_first(before);
  return after.at != nullptr;
}

void EventArguments::append(const EventArguments& more) {
  const auto shift = static_cast<std::uint32_t>(texts_.size());
  texts_ += more.texts_;
  for (One one : more.all_) {
    for (std::uint32_t* const at : {&one.name_at, &one.name_end, &one.text_at, &one.text_end}) *at += shift;
    all_.push_back(one);
  }
}

std::size_t EventArguments::find(std::string_view name) const {
  std::size_t at = 0;
  while (at < all_.size() && this->name(all_[at]) != name) ++at;
  return at;
}

void EventArguments::rename(std::string_view from, ArgumentName to) {
  const std::size_t at = find(from);
  if (at == all_.size()) return;
  One& one = all_[at];
  one.column = to.column;
  one.name_at = static_cast<std::uint32_t>(texts_.size());
  texts_ += to.text;
  one.name_end = static_cast<std::uint32_t>(texts_.size());
}

std::string EventArguments::json(bool is_object) const {
  std::string out;
  for (const One& one : all_) {
    out += !out.empty() ? ',' : is_object ? '{' : '[';
    if (is_object) {
      append_json_string(out, name(one), JsonText::kAsIs);
      out += ':';
    }
    append_json(one, out);
  }
  if (out.empty()) return is_object ? "{}" : "[]";
  return out + (is_object ? '}' : ']');
}

void EventArguments::append_json(const One& one, std::string& out) const {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        auto to = std::back_inserter(out);
        if constexpr (std::same_as<Value, Text>) {
          append_json_string(out, text(one), JsonText::kAsIs);
        } else if constexpr (std::same_as<Value, Json>) {
          out += text(one);
        } else if constexpr (std::same_as<Value, Extent>) {
          fmt::format_to(to, "[{},{},{}]", value[0], value[1], value[2]);
        } else if constexpr (std::same_as<Value, double>) {
          std::isfinite(value) ? fmt::format_to(to, "{}", value) : fmt::format_to(to, "null");
        } else {
          fmt::format_to(to, "{}", value);
        }
      },
      one.value);
}

}  // namespace headroom::trace::readers
