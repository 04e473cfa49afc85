// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_rewriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>

#include "headroom/base/text.h"
#include "headroom_trace/json/strict_json.h"

namespace headroom::trace::readers {
namespace {

// Ids as in event_fields.cpp, and those used by viewers.
constexpr std::array<std::string_view, 11> kIds{"correlation",
                                                "correlation_id",
                                                "Sequence number",
                                                "wait_on_cuda_event_record_corr_id",
                                                "wait_on_hip_event_record_corr_id",
                                                "wait_on_cuda_event_id",
                                                "wait_on_hip_event_id",
                                                "cuda_event_id",
                                                "hip_event_id",
                                                "Python id",
                                                "Python parent id"};
constexpr std::array<std::string_view, 2> kExternalIds{"External id", "external id"};
constexpr std::array<std::string_view, 2> kDevices{"device", "Device Id"};

template <typename Words>
bool is_one_of(const Words& words, std::string_view key) {
  return std::ranges::find(words, key) != words.end();
}

/// Wraps within 63 bits: ids stay distinct.
std::int64_t moved(const RankRemap& remap, std::int64_t id) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t sum = static_cast<std::uint64_t>(id) + static_cast<std::uint64_t>(remap.place) *
                                                                 static_cast<std::uint64_t>(kRankIdStride);
  return static_cast<std::int64_t>(sum & kMost);
}

std::optional<std::int64_t> number_in(std::string_view text, int base) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc{} && at == end && number >= 0 ? std::optional(number) : std::nullopt;
}

void append_time_member(std::string_view key, std::int64_t ns, std::string& out) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  append_microseconds(ns, out);
}

/// Converts a string, or a number behind a control character; copies other numbers.
void append_time(std::string_view key, Raw value, std::string& out) {
  const bool is_number = is_digit(value.front()) || value.front() == '-';
  if (!is_number) return append_time_member(key, parse_microseconds(value).value_or(0), out);
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  append_clean_scalar(value, out);
}

void append_key(Raw key, std::string& out) {
  out += ',';
  append_json_string(out, clean_text(key).text);
  out += ':';
}

bool is_scalar(const Walk& walk) {
  return role_of(walk) == kValue;
}

}  // namespace

void append_process(const RankRemap& remap, Raw pid, std::string& out) {
  const std::string_view text = without_quotes(pid);
  const auto number = number_in(text, 10);
  // The reader distinguishes "07" from "7".
  const bool is_plain = text.size() == 1 || !text.starts_with('0');
  if (number && is_plain && *number < remap.process_stride) {
    fmt::format_to(std::back_inserter(out), "{}", remap.place * remap.process_stride + *number);
  } else {
    append_json_string(
        out, fmt::format("rank {}{}{}", remap.rank, text.empty() ? "" : " ", clean_text(text).text));
  }
}

void append_process(const RankRemap& remap, Raw pid, RewrittenProcess process, Batch& batch) {
  append_process(remap, pid, process.pid);
  batch.rewritten += ",\"pid\":";
  batch.rewritten += process.pid;
  // Adjacent events often share a process.
  const auto known = std::ranges::find(batch.processes.rbegin(), batch.processes.rend(), process.pid,
                                       &RewrittenProcess::pid);
  if (known == batch.processes.rend()) {
    batch.processes.push_back(std::move(process));
  } else {
    known->is_named |= process.is_named;
    known->is_sorted |= process.is_sorted;
  }
}

void append_id(const RankRemap& remap, Raw id, std::string& out) {
  if (remap.place == 0) return append_clean_scalar(id, out);
  const std::string_view text = without_quotes(id);
  const bool is_text = text.size() != id.size();
  if (const auto number = number_in(text, 10)) {
    fmt::format_to(std::back_inserter(out), "{0}{1}{0}", is_text ? "\"" : "", moved(remap, *number));
  } else if (const auto hex = text.starts_with("0x") ? number_in(text.substr(2), 16) : std::nullopt) {
    fmt::format_to(std::back_inserter(out), "\"0x{:x}\"", moved(remap, *hex));
  } else if (const auto whole = is_text ? std::nullopt : parse_integer(id)) {
    fmt::format_to(std::back_inserter(out), "{}", moved(remap, *whole));
  } else {
    append_json_string(out, fmt::format("rank {} {}", remap.rank, clean_text(text).text));
  }
}

std::optional<std::int64_t> remapped_argument(const RankRemap& remap, std::string_view key, Raw value) {
  const bool is_device = is_one_of(kDevices, key), is_external = is_one_of(kExternalIds, key);
  if (!is_device && !is_external && !is_one_of(kIds, key)) return std::nullopt;
  const auto number = parse_integer(value);
  // No id: negative, or zero external.
  if (!number || *number < (is_external ? 1 : 0)) return std::nullopt;
  if (!is_device) return moved(remap, *number);
  if (*number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return remap.place * remap.device_stride + *number;
}

std::string remapped_process_name(const RankRemap& remap, std::string_view name) {
  std::string marked = fmt::format("rank {}: {}", remap.rank, name);
  for (const std::string_view prefix : {"/device:GPU:", "/device:TPU:"}) {
    const std::size_t found = marked.find(prefix);
    if (found == std::string::npos) continue;
    const std::size_t first = found + prefix.size();
    const std::size_t end = std::min(marked.find_first_not_of("0123456789", first), marked.size());
    const auto device =
        remapped_argument(remap, "device", std::string_view(marked).substr(first, end - first));
    if (device) marked.replace(first, end - first, std::to_string(*device));
  }
  return marked;
}

std::int64_t remapped_sort_index(const RankRemap& remap, std::optional<std::int64_t> index) {
  // Kineto: host by process id, devices from 5,000,000, others last. Viewers sort by 32 bits.
  constexpr std::int64_t kOfARank = 4096, kHost = 2048, kLast = kOfARank - 1, kFirstDevice = 5'000'000;
  const std::int64_t given = std::max<std::int64_t>(index.value_or(kHost), 0);
  const std::int64_t place =
      given < kFirstDevice ? std::min(given, kHost) : std::min(kHost + 1 + (given - kFirstDevice), kLast);
  return remap.place * kOfARank + place;
}

Walk EventRewriter::read(Walk walk, std::uint64_t offset, Batch& batch) {
  if (walk.next_token() == '}') {
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
    batch.skip_event(offset, phase_error(fields_.phase));
    return after;
  }
  // Metadata need no time.
  const bool has_time = !fields_.ts.empty() && moved_time();
  if (!has_time && phase_ != 'M') {
    batch.skip_event(offset, time_error(fields_.ts));
    return after;
  }
  if (phase.size() > 1) batch.add_problem(offset, long_phase_error(fields_.phase));
  append_event(has_time, offset, batch);
  return after;
}

/// Returns nothing if a reader would reject the time.
std::optional<std::int64_t> EventRewriter::moved_time() const {
  const auto at = parse_microseconds(fields_.ts);
  if (!at || remap_ == nullptr) return at;
  // Cannot overflow.
  const std::int64_t moved = *at + remap_->shift_ns;
  return moved >= -kMaxNs && moved <= kMaxNs ? std::optional(moved) : std::nullopt;
}

/// Copies all but phase, ts and dur.
Walk EventRewriter::copy_members(Walk walk) {
  fields_ = {};
  members_.clear();
  arguments_ = {};
  process_ = {};
  const Walk after = walk_object(walk, [this](Raw key, Walk at) -> AfterMember {
    // The first phase counts.
    if (key == "ph")
      return {without_quotes(fields_.phase).empty() ? take_value(at, fields_.phase) : past_value(at)};
    if (key == "ts") return {take_value(at, fields_.ts)};
    if (key == "dur") return {take_value(at, fields_.dur)};
    return {remap_ != nullptr ? copy_remapped(key, at) : copy_member(key, at)};
  });
  if (after.at == nullptr || remap_ == nullptr) return after;
  return copy_arguments() ? after : Walk{};
}

Walk EventRewriter::copy_member(Raw key, Walk walk) {
  append_key(key, members_);
  return append_clean_value(walk, members_);
}

Walk EventRewriter::copy_remapped(Raw key, Walk walk) {
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
  append_id(*remap_, fields_.id, members_);
  return after;
}

Walk EventRewriter::copy_object(Raw key, Walk walk, Walk (EventRewriter::*copy)(Raw, Walk)) {
  append_key(key, members_);
  members_ += '{';
  const std::size_t before = members_.size();
  const Walk after =
      walk_object(walk, [&](Raw name, Walk at) -> AfterMember { return {(this->*copy)(name, at)}; });
  if (members_.size() > before) members_.erase(before, 1);
  members_ += '}';
  return after;
}

/// Returns false if the arguments are broken.
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
    append_json_string(members_, remapped_process_name(*remap_, clean_text(without_quotes(value)).text));
    return after;
  }
  auto number = remapped_argument(*remap_, key, value);
  if (what == "process_sort_index" && key == "sort_index") {
    process_.is_sorted = true;
    number = remapped_sort_index(*remap_, parse_integer(value));
  }
  if (key == "device") {
    // append_device() adds the process's device.
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

/// Device work without a device used its process id, which was renumbered.
void EventRewriter::append_device() {
  if (has_device_ || !is_of_device()) return;
  const auto device = remapped_argument(*remap_, "device", without_quotes(fields_.pid));
  if (!device) return;
  members_.pop_back();  // the } of the arguments
  const char* const comma = members_.back() == '{' ? "" : ",";
  fmt::format_to(std::back_inserter(members_), "{}\"device\":{}}}", comma, *device);
}

void EventRewriter::append_event(bool has_time, std::uint64_t offset, Batch& batch) {
  std::string& out = batch.rewritten;
  out += "{\"ph\":\"";
  out += phase_;
  out += '"';
  if (has_time && remap_ == nullptr) append_time("ts", fields_.ts, out);
  if (has_time && remap_ != nullptr) append_time_member("ts", *moved_time(), out);
  const auto length = fields_.dur.empty() ? std::nullopt : parse_microseconds(fields_.dur);
  if (length && *length >= 0) {
    append_time("dur", fields_.dur, out);
  } else if (phase_ == 'X') {
    batch.add_problem(offset, duration_error(fields_.dur));
    out += ",\"dur\":0";
  }
  if (remap_ != nullptr) append_process(*remap_, fields_.pid, process_, batch);
  out += members_;
  out += "},\n";
}

}  // namespace headroom::trace::readers
