// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/merge/merged_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "headroom/base/json.h"
#include "headroom/trace/readers/json_repair.h"

namespace headroom::trace {
namespace {

constexpr std::string_view kBetween = ",\n";

std::string json_text(std::string_view text) {
  std::string json;
  readers::append_json_string(text, json);
  return json;
}

std::string microseconds(std::int64_t ns) {
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

}  // namespace

MergedDocument::MergedDocument(const WriteText& write, std::int64_t base_ns) : write_(write) {
  write_(fmt::format("{{\"schemaVersion\":1,\n\"baseTimeNanoseconds\":{},\n\"traceEvents\":[\n", base_ns));
}

void MergedDocument::begin_rank(const readers::RankMark& mark, const std::string& source,
                                std::int64_t moved_ns) {
  mark_ = mark;
  events_ = 0;
  processes_.clear();
  names_ = {"merged"};
  member_ = fmt::format(",\n\"rank {}\":{{\"merged\":{{\"file\":{},\"clock_moved_ns\":{}}}", mark.rank,
                        json_text(source), moved_ns);
}

void MergedDocument::add_events(std::string_view lines) {
  events_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
  lines.remove_suffix(kBetween.size());
  add_line(lines);
}

void MergedDocument::add_line(std::string_view line) {
  if (has_events_) write_(kBetween);
  has_events_ = true;
  write_(line);
}

void MergedDocument::add_processes(std::span<const readers::RewrittenProcess> processes) {
  for (const readers::RewrittenProcess& process : processes) {
    readers::RewrittenProcess& known = processes_[process.pid];
    known.is_named |= process.is_named;
    known.is_sorted |= process.is_sorted;
  }
}

void MergedDocument::add_member(std::string_view name, std::string_view json) {
  // Of members of one name the first counts, as where a trace is converted.
  if (name == "traceEvents" || json.empty() || !names_.emplace(name).second) return;
  member_ += fmt::format(",\n{}:{}", json_text(name), json);
  if (name == "deviceProperties") add_devices(json);
}

/// By the numbers that their work has now.
void MergedDocument::add_devices(std::string_view json) {
  if (!is_json(json)) return;
  Json list = parse_json(json, "deviceProperties");
  if (!list.is_array()) return;
  std::int64_t place = 0;
  for (Json& device : list) {
    if (!device.is_object()) continue;
    const Json* const id = device.find("id");
    const std::string number = id != nullptr ? dump_json(*id) : std::to_string(place);
    if (const auto marked = readers::marked_argument(mark_, "device", number)) device["id"] = *marked;
    devices_ += (devices_.empty() ? "" : ",") + dump_json(device);
    ++place;
  }
}

std::uint64_t MergedDocument::end_rank() {
  const std::uint64_t events = events_;
  const auto describe = [&](const std::string& pid, const char* what, const std::string& value) {
    add_line(
        fmt::format(R"({{"ph":"M","ts":0,"pid":{},"tid":0,"name":"{}","args":{{{}}}}})", pid, what, value));
  };
  for (const auto& [pid, process] : processes_) {
    if (!process.is_named) describe(pid, "process_name", fmt::format("\"name\":\"rank {}\"", mark_.rank));
    if (!process.is_sorted)
      describe(pid, "process_sort_index",
               fmt::format("\"sort_index\":{}", readers::marked_sort_index(mark_, std::nullopt)));
  }
  members_ += member_ + "}";
  return events;
}

void MergedDocument::add_arrow(std::int64_t id, const std::string& name, const ArrowEnd& from,
                               const ArrowEnd& to) {
  const auto end = [&](const char* phase, const ArrowEnd& at, const char* more) {
    add_line(fmt::format(R"({{"ph":"{}","ts":{},"pid":{},"tid":{},"cat":"collective","name":{},"id":{}{}}})",
                         phase, microseconds(at.at_ns), at.process, at.thread, json_text(name), id, more));
  };
  end("s", from, "");
  // Drawn to the event around this time, not to the next one.
  end("f", to, R"(,"bp":"e")");
}

void MergedDocument::finish() {
  write_("\n]");
  if (!devices_.empty()) write_(",\n\"deviceProperties\":[" + devices_ + "]");
  write_(members_ + "}\n");
}

}  // namespace headroom::trace
