// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_rewriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "headroom/base/text.h"
#include "headroom/trace/readers/categories.h"
#include "headroom/trace/readers/event_complaints.h"
#include "headroom/trace/readers/json_repair.h"

namespace headroom::trace::readers {
namespace {

void append_microseconds(std::string_view key, std::int64_t ns, std::string& out) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  fmt::format_to(std::back_inserter(out), ",\"{}\":{}{}", key, ns < 0 ? "-" : "", size / 1000);
  if (size % 1000 != 0) fmt::format_to(std::back_inserter(out), ".{:03}", size % 1000);
}

/// As it stands where it is a number; what a string, or a number behind a control character, means in
/// microseconds, with three decimals where it has any.
void append_time(std::string_view key, Raw value, std::string& out) {
  const bool is_number = is_digit(value.front()) || value.front() == '-';
  if (!is_number) return append_microseconds(key, parse_microseconds(value).value_or(0), out);
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  append_clean_scalar(value, out);
}

void append_key(Raw key, std::string& out) {
  out += ',';
  append_json_string(clean_text(key).text, out);
  out += ':';
}

/// Whether what follows a key that is marked is what can be: a number, a word or a string.
bool is_scalar(const Walk& walk) {
  return role_of(walk) == kValue;
}

}  // namespace

Walk EventRewriter::read(Walk walk, std::uint64_t offset, Batch& batch) {
  if (walk.next_token() == '}') {
    // As the reader has it: an event that says nothing.
    ++batch.seen;
    ++batch.without_columns;
    return {walk.text, walk.at + 2};
  }
  const Walk after = copy_members(walk);
  if (after.at == nullptr) return after;
  ++batch.seen;
  const Raw phase = without_quotes(fields_.phase);
  phase_ = phase.empty() ? '\0' : phase.front();
  if (!is_known_phase(phase_)) {
    batch.skip_event(offset, no_phase(fields_.phase));
    return after;
  }
  // Metadata alone need no time.
  const bool has_time = !fields_.ts.empty() && moved_time();
  if (!has_time && phase_ != 'M') {
    batch.skip_event(offset, no_time(fields_.ts));
    return after;
  }
  if (phase.size() > 1) batch.add_problem(offset, long_phase(fields_.phase));
  append_event(has_time, offset, batch);
  return after;
}

/// What the time of the event becomes; nothing where it has none, or none that a reader takes.
std::optional<std::int64_t> EventRewriter::moved_time() const {
  const auto at = parse_microseconds(fields_.ts);
  if (!at || mark_ == nullptr) return at;
  // Both are within kMostNs, so that the sum has room.
  const std::int64_t moved = *at + mark_->shift_ns;
  return moved >= -kMostNs && moved <= kMostNs ? std::optional(moved) : std::nullopt;
}

/// All members but phase, ts and dur; past the event.
Walk EventRewriter::copy_members(Walk walk) {
  fields_ = {};
  members_.clear();
  arguments_ = {};
  process_ = {};
  const Walk after = walk_object(walk, [this](Raw key, Walk at) -> AfterMember {
    // The first that says one, as for the reader.
    if (key == "ph")
      return {without_quotes(fields_.phase).empty() ? take_value(at, fields_.phase) : past_value(at)};
    if (key == "ts") return {take_value(at, fields_.ts)};
    if (key == "dur") return {take_value(at, fields_.dur)};
    return {mark_ != nullptr ? copy_marked(key, at) : copy_member(key, at)};
  });
  if (after.at == nullptr || mark_ == nullptr) return after;
  return copy_arguments() ? after : Walk{};
}

Walk EventRewriter::copy_member(Raw key, Walk walk) {
  append_key(key, members_);
  return append_clean_value(walk, members_);
}

Walk EventRewriter::copy_marked(Raw key, Walk walk) {
  if (key == "args") {
    arguments_ = walk;
    return past_value(walk);
  }
  if (key == "pid") return take_value(walk, fields_.pid);
  if (key == "cat") take_value(walk, fields_.category);
  if (key == "name") take_value(walk, fields_.name);
  if (key == "id2" && walk.token() == '{') return copy_object(key, walk, &EventRewriter::copy_id);
  return key == "id" || key == "bind_id" ? copy_id(key, walk) : copy_member(key, walk);
}

Walk EventRewriter::copy_id(Raw key, Walk walk) {
  if (!is_scalar(walk)) return copy_member(key, walk);
  const Walk after = take_value(walk, fields_.id);
  if (after.at == nullptr) return after;
  append_key(key, members_);
  append_id(*mark_, fields_.id, members_);
  return after;
}

/// The object as the value of the key, each of its members by `copy`.
Walk EventRewriter::copy_object(Raw key, Walk walk, Walk (EventRewriter::*copy)(Raw, Walk)) {
  append_key(key, members_);
  members_ += '{';
  const std::size_t before = members_.size();
  const Walk after =
      walk_object(walk, [&](Raw name, Walk at) -> AfterMember { return {(this->*copy)(name, at)}; });
  // Each has a comma before it.
  if (members_.size() > before) members_.erase(before, 1);
  members_ += '}';
  return after;
}

/// False where they are broken.
bool EventRewriter::copy_arguments() {
  if (arguments_.at == nullptr) return true;
  if (arguments_.token() != '{') return copy_member("args", arguments_).at != nullptr;
  has_device_ = false;
  if (copy_object("args", arguments_, &EventRewriter::copy_argument).at == nullptr) return false;
  append_device();
  return true;
}

Walk EventRewriter::copy_argument(Raw key, Walk walk) {
  if (!is_scalar(walk)) return copy_member(key, walk);
  Raw value;
  const Walk after = take_value(walk, value);
  if (after.at == nullptr) return after;
  const bool is_metadata = without_quotes(fields_.phase) == "M";
  const std::string_view what = is_metadata ? without_quotes(fields_.name) : Raw();
  if (what == "process_name" && key == "name") {
    process_.is_named = true;
    append_key(key, members_);
    append_json_string(marked_process_name(*mark_, clean_text(without_quotes(value)).text), members_);
    return after;
  }
  auto number = marked_argument(*mark_, key, value);
  if (what == "process_sort_index" && key == "sort_index") {
    process_.is_sorted = true;
    number = marked_sort_index(*mark_, parse_whole(value));
  }
  if (key == "device") {
    // One that stands for none is told by the process.
    if (!number && is_of_device()) return after;
    has_device_ = true;
  }
  if (!number) return copy_member(key, walk);
  append_key(key, members_);
  fmt::format_to(std::back_inserter(members_), "{}", *number);
  return after;
}

bool EventRewriter::is_of_device() const {
  return is_gpu_work(category_of(without_quotes(fields_.category)));
}

/// Work that does not say its device is of the one in whose process it is drawn, whose number is another now.
void EventRewriter::append_device() {
  if (has_device_ || !is_of_device()) return;
  const auto device = marked_argument(*mark_, "device", without_quotes(fields_.pid));
  if (!device) return;
  members_.pop_back();  // the end of the arguments
  const char* const comma = members_.back() == '{' ? "" : ",";
  fmt::format_to(std::back_inserter(members_), "{}\"device\":{}}}", comma, *device);
}

void EventRewriter::append_process_to(Batch& batch) {
  append_process(*mark_, fields_.pid, process_.pid);
  batch.rewritten += ",\"pid\":";
  batch.rewritten += process_.pid;
  // Neighbours are often of one process.
  const auto known = std::ranges::find(batch.processes.rbegin(), batch.processes.rend(), process_.pid,
                                       &RewrittenProcess::pid);
  if (known == batch.processes.rend()) {
    batch.processes.push_back(process_);
  } else {
    known->is_named |= process_.is_named;
    known->is_sorted |= process_.is_sorted;
  }
}

void EventRewriter::append_event(bool has_time, std::uint64_t offset, Batch& batch) {
  std::string& out = batch.rewritten;
  out += "{\"ph\":\"";
  out += phase_;
  out += '"';
  if (has_time && mark_ == nullptr) append_time("ts", fields_.ts, out);
  if (has_time && mark_ != nullptr) append_microseconds("ts", *moved_time(), out);
  const auto length = fields_.dur.empty() ? std::nullopt : parse_microseconds(fields_.dur);
  if (length && *length >= 0) {
    append_time("dur", fields_.dur, out);
  } else if (phase_ == 'X') {
    batch.add_problem(offset, no_duration(fields_.dur));
    out += ",\"dur\":0";
  }
  if (mark_ != nullptr) append_process_to(batch);
  out += members_;
  out += "},\n";
}

}  // namespace headroom::trace::readers
