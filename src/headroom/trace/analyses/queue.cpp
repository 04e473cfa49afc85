// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/tables/reading_notes.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/queue_length.h"

namespace headroom::trace {
namespace {

// CUDA's default depth of a stream's launch queue.
constexpr double kDefaultLimit = 1024;

constexpr AnalysisOption kOptions[] = {
    {"limit", "COUNT", "1024", "from this length on the queue is full and a launch blocks the CPU"},
    {"series", "", "", "a table with every change of each queue"}};

DataTable streams_table(const std::vector<StreamQueue>& queues, std::int64_t limit) {
  DataTable table{
      "streams",
      fmt::format("work launched and not yet started, by stream; {} or more block the CPU", limit),
      {{"device", "device", Kind::kText},
       {"stream", "stream", Kind::kCount},
       {"works", "work", Kind::kCount},
       {"without_launch", "no launch", Kind::kCount},
       {"span_ns", "time", Kind::kTimeNs},
       {"mean_length", "mean length", Kind::kNumber},
       {"max_length", "max length", Kind::kCount},
       {"empty_ns", "empty", Kind::kTimeNs},
       {"empty_share", "empty share", Kind::kShare},
       {"blocked_ns", "blocked", Kind::kTimeNs}},
      {}};
  for (const StreamQueue& queue : queues) {
    const QueueSummary summary = summarize(queue.steps, limit);
    table.rows.push_back({device_text(queue.device), number_cell(queue.stream), count_cell(queue.works),
                          count_cell(queue.without_launch), summary.span_ns,
                          quotient_cell(summary.length_ns, static_cast<double>(summary.span_ns)),
                          summary.max_length, summary.empty_ns, share_cell(summary.empty_ns, summary.span_ns),
                          summary.blocked_ns});
  }
  return table;
}

DataTable series_table(const std::vector<StreamQueue>& queues) {
  DataTable table{"series",
                  "length of each queue from each change on",
                  {{"device", "device", Kind::kText},
                   {"stream", "stream", Kind::kCount},
                   {"at_ns", "from", Kind::kInstantNs},
                   {"length", "length", Kind::kCount}},
                  {}};
  for (const StreamQueue& queue : queues) {
    for (const QueueStep& step : queue.steps)
      table.rows.push_back({device_text(queue.device), number_cell(queue.stream), step.at_ns, step.length});
  }
  return table;
}

void add(QueueSummary& sum, const QueueSummary& one) {
  sum.span_ns = saturating_add(sum.span_ns, one.span_ns);
  sum.max_length = std::max(sum.max_length, one.max_length);
  sum.length_ns += one.length_ns;
  sum.empty_ns = saturating_add(sum.empty_ns, one.empty_ns);
  sum.blocked_ns = saturating_add(sum.blocked_ns, one.blocked_ns);
}

/// Over several streams: weighted by the time of each.
void add_headlines(const QueueSummary& sum, const std::string& device, AnalysisResult& result) {
  if (sum.span_ns <= 0) return;
  const auto span = static_cast<double>(sum.span_ns);
  result.headlines.push_back({"queue_length_mean", Kind::kNumber, false, sum.length_ns / span, device});
  result.headlines.push_back(
      {"queue_length_max", Kind::kCount, false, static_cast<double>(sum.max_length), device});
  result.headlines.push_back(
      {"queue_empty_share", Kind::kShare, true, static_cast<double>(sum.empty_ns) / span, device});
  result.headlines.push_back(
      {"queue_blocked_ns", Kind::kTimeNs, true, static_cast<double>(sum.blocked_ns), device});
}

void sum_up(const std::vector<StreamQueue>& queues, std::int64_t limit, AnalysisResult& result) {
  QueueSummary all;
  std::map<std::int32_t, QueueSummary> devices;
  std::size_t without_launch = 0, works = 0;
  for (const StreamQueue& queue : queues) {
    const QueueSummary summary = summarize(queue.steps, limit);
    add(all, summary);
    add(devices[queue.device], summary);
    without_launch += queue.without_launch;
    works += queue.works + queue.without_launch;
  }
  for (const auto& [device, sum] : devices) {
    if (devices.size() > 1) add_headlines(sum, device_text(device), result);
  }
  add_headlines(all, "", result);
  if (all.blocked_ns > 0)
    result.notes.push_back(fmt::format(
        "queues were full for {}: the CPU waited for the device, which is bound by its own work there",
        format_time_ns(static_cast<double>(all.blocked_ns))));
  if (without_launch > 0)
    result.notes.push_back(
        fmt::format("{} of {} pieces of GPU work have no launch in the file: left out of the queues",
                    without_launch, works));
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  const double limit = options.number("limit", kDefaultLimit);
  if (!(limit >= 1 && limit <= 1e15))
    throw Error(fmt::format("--limit {}: give a length of 1 or more", options.text("limit")));
  if (trace.gpu.empty()) {
    AnalysisResult nothing;
    nothing.notes.push_back(no_gpu_work(trace));
    return nothing;
  }
  const auto limit_length = static_cast<std::int64_t>(std::ceil(limit));
  const std::vector<StreamQueue> queues = queue_lengths(trace, launches(trace));
  AnalysisResult result;
  result.tables.push_back(streams_table(queues, limit_length));
  if (options.flag("series")) result.tables.push_back(series_table(queues));
  sum_up(queues, limit_length, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis queue{"queue",          "how much work waits on each stream, and when launching blocks",
                            Needs::kLaunches, analyze,
                            kOptions,         nullptr};

}  // namespace analysis
}  // namespace headroom::trace
