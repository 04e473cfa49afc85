// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "headroom/files/csv.h"
#include "headroom_trace/json/strict_json.h"
#include "headroom_trace/readers/event_rewriter.h"

namespace headroom::trace {
namespace {

/// Members stay before or after the list; a second list joins the first.
class ChromeTraceWriter {
 public:
  explicit ChromeTraceWriter(const WriteText& write) : write_(write) {}

  void add_events(std::string_view lines) {
    constexpr std::string_view kBetween = ",\n";
    if (state_ == State::kStart || state_ == State::kMembers)
      write_(state_ == State::kStart ? "{\"traceEvents\":[\n" : ",\n\"traceEvents\":[\n");
    if (state_ == State::kEvents) write_(kBetween);
    state_ = State::kEvents;
    events_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
    lines.remove_suffix(kBetween.size());
    write_(lines);
  }

  void add_member(std::string_view name, std::string_view json) {
    // The first member of a name counts.
    if (name == "traceEvents" || json.empty() || !names_.emplace(name).second) return;
    std::string text;
    append_json_string(text, name);
    text += ':';
    text += json;
    if (state_ == State::kEvents) {
      after_events_ += ",\n" + text;
    } else {
      write_((state_ == State::kStart ? "{" : ",\n") + text);
      state_ = State::kMembers;
    }
  }

  std::uint64_t finish() {
    if (state_ != State::kEvents)
      write_(state_ == State::kStart ? "{\"traceEvents\":[" : ",\n\"traceEvents\":[");
    write_("\n]" + after_events_ + "}\n");
    return events_;
  }

 private:
  enum class State { kStart, kMembers, kEvents };
  const WriteText& write_;
  State state_ = State::kStart;
  std::set<std::string> names_;
  std::string after_events_;
  std::uint64_t events_ = 0;
};

constexpr std::array<const char*, 12> kCategories{
    "kernel", "gpu_memcpy", "gpu_memset",      "gpu_user_annotation", "gpu_sync", "runtime",
    "driver", "cpu_op",     "user_annotation", "python_function",     "overhead", "other"};

std::string number_or_nothing(std::int64_t value) {
  return value < 0 ? "" : std::to_string(value);
}
std::string number_or_nothing(double value) {
  return value < 0 ? "" : fmt::format("{}", value);
}

std::string extent_text(const std::uint32_t (&size)[3]) {
  if (size[0] == 0 && size[1] == 0 && size[2] == 0) return "";
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

CsvRow header() {
  return {"name",
          "category",
          "pid",
          "tid",
          "process_name",
          "thread_name",
          "start_ns",
          "duration_ns",
          "correlation",
          "external_id",
          "device",
          "stream",
          "bytes",
          "bandwidth_gb_s",
          "grid",
          "block",
          "blocks_per_sm",
          "warps_per_sm",
          "occupancy_percent",
          "registers_per_thread",
          "sequence",
          "dims",
          "types",
          "strides",
          "values",
          "stack"};
}

void append_gpu(CsvRow& row, const Trace& trace, const GpuDetail* work) {
  if (work == nullptr) {
    row.resize(row.size() + 10);
    return;
  }
  row.insert(
      row.end(),
      {number_or_nothing(std::int64_t{device_of(trace, *work)}), number_or_nothing(work->stream),
       number_or_nothing(work->bytes), number_or_nothing(work->bandwidth_gb_s), extent_text(work->grid),
       extent_text(work->block), number_or_nothing(double{work->blocks_per_sm}),
       number_or_nothing(double{work->warps_per_sm}), number_or_nothing(double{work->occupancy_percent}),
       number_or_nothing(std::int64_t{work->registers_per_thread})});
}

void append_op(CsvRow& row, const Trace& trace, const OpDetail* op) {
  if (op == nullptr) {
    row.resize(row.size() + 6);
    return;
  }
  row.push_back(number_or_nothing(op->sequence));
  for (const NameId id : {op->dims, op->types, op->strides, op->values, op->stack})
    row.emplace_back(trace.names[id]);
}

CsvRow row_of(const Trace& trace, std::size_t i) {
  const Events& events = trace.events;
  const Category category = events.category[i];
  const Thread& thread = trace.threads[events.thread[i]];
  const std::uint32_t detail = events.detail[i];
  const GpuDetail* const work = detail != kNone && is_gpu_work(category) ? &trace.gpu[detail] : nullptr;
  const bool is_op = category == Category::kCpuOp || category == Category::kUserAnnotation;
  const OpDetail* const op = detail != kNone && is_op ? &trace.ops[detail] : nullptr;
  const std::int64_t external_id = work != nullptr ? work->external_id : op != nullptr ? op->external_id : -1;
  CsvRow row{std::string(trace.names[events.name[i]]),
             kCategories[static_cast<std::size_t>(category)],
             thread.pid,
             thread.tid,
             thread.process_name,
             thread.thread_name,
             std::to_string(events.start_ns[i]),
             std::to_string(events.duration_ns[i]),
             events.correlation[i] == kNoCorrelation ? "" : std::to_string(events.correlation[i]),
             number_or_nothing(external_id)};
  append_gpu(row, trace, work);
  append_op(row, trace, op);
  return row;
}

}  // namespace

Conversion convert_to_chrome_trace(const std::filesystem::path& path, const WriteText& write,
                                   const ReadOptions& options) {
  ChromeTraceWriter writer(write);
  const readers::RewriteSink sink{
      [&writer](std::string_view lines) { writer.add_events(lines); },
      [&writer](std::string_view name, std::string_view json) { writer.add_member(name, json); }};
  Conversion conversion;
  conversion.facts = facts_of(rewrite(path, sink, options));
  conversion.events_written = writer.finish();
  return conversion;
}

std::uint64_t write_event_columns(const Trace& trace, const WriteText& write) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  std::string text = csv_line(header());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    text += csv_line(row_of(trace, i));
    if (text.size() < kBlock) continue;
    write(text);
    text.clear();
  }
  write(text);
  return trace.events.size();
}

}  // namespace headroom::trace
