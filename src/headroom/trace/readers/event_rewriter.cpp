// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_rewriter.h"

#include <fmt/format.h>

#include <iterator>

#include "headroom/trace/readers/event_complaints.h"
#include "headroom/trace/readers/json_repair.h"

namespace headroom::trace::readers {
namespace {

/// As it stands where it is a number; what a string means in microseconds, with three decimals where it has
/// any.
void append_time(std::string_view key, Raw value, std::string& out) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  if (value.front() != '"') return append_clean_scalar(value, out);
  const std::int64_t ns = parse_microseconds(value).value_or(0);
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  fmt::format_to(std::back_inserter(out), "{}{}", ns < 0 ? "-" : "", size / 1000);
  if (size % 1000 != 0) fmt::format_to(std::back_inserter(out), ".{:03}", size % 1000);
}

}  // namespace

Walk EventRewriter::read(Walk walk, std::uint64_t offset, Batch& batch) {
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
  const bool has_time = !fields_.ts.empty() && parse_microseconds(fields_.ts);
  if (!has_time && phase_ != 'M') {
    batch.skip_event(offset, no_time(fields_.ts));
    return after;
  }
  if (phase.size() > 1) batch.add_problem(offset, long_phase(fields_.phase));
  append_event(has_time, offset, batch);
  return after;
}

/// All members but phase, ts and dur; past the event.
Walk EventRewriter::copy_members(Walk walk) {
  fields_ = {};
  members_.clear();
  return walk_object(walk, [this](Raw key, Walk at) -> AfterMember {
    // The first that says one, as for the reader.
    if (key == "ph")
      return {without_quotes(fields_.phase).empty() ? take_value(at, fields_.phase) : past_value(at)};
    if (key == "ts") return {take_value(at, fields_.ts)};
    if (key == "dur") return {take_value(at, fields_.dur)};
    members_ += ',';
    append_json_string(clean_text(key).text, members_);
    members_ += ':';
    return {append_clean_value(at, members_)};
  });
}

void EventRewriter::append_event(bool has_time, std::uint64_t offset, Batch& batch) {
  std::string& out = batch.rewritten;
  out += "{\"ph\":\"";
  out += phase_;
  out += '"';
  if (has_time) append_time("ts", fields_.ts, out);
  const auto length = fields_.dur.empty() ? std::nullopt : parse_microseconds(fields_.dur);
  if (length && *length >= 0) {
    append_time("dur", fields_.dur, out);
  } else if (phase_ == 'X') {
    batch.add_problem(offset, no_duration(fields_.dur));
    out += ",\"dur\":0";
  }
  out += members_;
  out += "},\n";
}

}  // namespace headroom::trace::readers
