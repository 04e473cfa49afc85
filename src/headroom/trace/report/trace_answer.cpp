// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "headroom/base/text.h"
#include "headroom/trace/report/trace_text.h"

namespace headroom {
namespace {

using trace::AnalysisResult;
using trace::Cell;
using trace::DataTable;
using trace::Kind;

/// What a headline says: its value stands for '#'.
struct Phrase {
  std::string_view analysis, metric, text;
};

constexpr std::array kPhrases = {
    Phrase{"utilization", "utilization", "the devices work # of the time"},
    Phrase{"utilization", "matmul_convolution_share", "matrix products and convolutions take # of the time"},
    Phrase{"utilization", "exposed_communication_share", "communication that nothing hides #"},
    Phrase{"summary", "utilization", "the devices work # of the time"},
    Phrase{"summary", "exposed_communication_share", "communication that nothing hides takes # of the time"},
    Phrase{"findings", "recoverable_ns", "# could be gained"},
    Phrase{"overlap", "overlap", "# of communication is hidden behind computation"},
    Phrase{"overlap", "exposed_communication_share", "what nothing hides takes # of the time"},
    Phrase{"overlap", "exposed_memory_share", "copies that nothing hides take # of the time"},
    Phrase{"steps", "steps", "# steps"},
    Phrase{"steps", "step_time_ns", "# each in the median"},
    Phrase{"steps", "step_utilization", "in which the devices work # of the time"},
    Phrase{"kernels", "gpu_events", "# pieces of work of the devices"},
    Phrase{"kernels", "gpu_time_ns", "# in all"},
    Phrase{"ops", "calls", "# calls of the host"},
    Phrase{"ops", "self_cpu_ns", "# of CPU time"},
    Phrase{"ops", "self_device_ns", "# of device time"},
    Phrase{"queue", "queue_empty_share", "nothing waits for the devices # of the time"},
    Phrase{"queue", "queue_length_mean", "# pieces of work wait in the mean"},
    Phrase{"queue", "queue_blocked_ns", "launching blocks for #"},
    Phrase{"idle", "idle_share", "the devices have nothing to do for # of the time"},
    Phrase{"idle", "host_wait_share", "they wait for the host for # of the time"},
    Phrase{"memory", "transfer_bytes", "# are copied"},
    Phrase{"memory", "transfer_ns", "that takes #"},
    Phrase{"memory", "peak_allocated_bytes", "at most # are allocated"},
    Phrase{"memory", "peak_reserved_bytes", "at most # are reserved"},
    Phrase{"modules", "modules", "# modules"},
    Phrase{"modules", "lines", "# lines of Python"},
    Phrase{"modules", "placed_device_ns", "# of device time are theirs"},
    Phrase{"roofline", "roof_share", "operators reach # of what the device allows"},
    Phrase{"roofline", "roofline_covered", "as far as their cost is known, which is # of the time"},
    Phrase{"efficiency", "sm_efficiency", "SM efficiency is #"},
    Phrase{"efficiency", "achieved_occupancy", "achieved occupancy #"},
    Phrase{"validate", "problems", "# problems in the file"},
    Phrase{"validate", "events_left_out", "# events left out"},
    Phrase{"validate", "anomalies", "# anomalies among its events"},
    Phrase{"launch", "launch_delay_median_ns", "work waits # after its launch in the median"},
    Phrase{"launch", "launch_call_median_ns", "a call that launches takes # in the median"},
    Phrase{"critical-path", "critical_path", "the critical path takes #"},
    Phrase{"critical-path", "job_critical_path", "the job's critical path takes #"},
    Phrase{"collectives", "collectives", "# collectives"},
    Phrase{"collectives", "communication_time", "# of communication"},
    Phrase{"collectives", "collective_latency", "collectives take #"},
    Phrase{"collectives", "collective_skew", "ranks enter them apart by # in all"},
    Phrase{"stragglers", "long_communication_kernels", "# communication kernels take long"},
};

/// A table whose first row leads it, by a share.
struct Leader {
  std::string_view analysis, table, share, what;
};

constexpr std::array kLeaders = {
    Leader{"kernels", "kernels", "share", "most"},
    Leader{"ops", "ops", "self_device_share", "most on the devices"},
    Leader{"ops", "ops", "self_cpu_share", "most of the CPU"},
};

/// The values of a metric over the whole trace: one, or one of each rank.
std::vector<trace::Headline> values_of(const TraceReport& report, std::string_view metric) {
  std::vector<trace::Headline> values;
  const auto take = [&](const AnalysisResult& result) {
    for (const trace::Headline& one : result.headlines) {
      if (one.metric == metric && one.device.empty()) values.push_back(one);
    }
  };
  take(report.result);
  if (!values.empty()) return values;
  for (const trace::RankResult& rank : report.ranks) take(rank.result);
  return values;
}

/// "57.6 %", "44.8 % to 47.1 %"; nothing where the metric is not there.
std::optional<std::string> value_text(const TraceReport& report, std::string_view metric) {
  const std::vector<trace::Headline> values = values_of(report, metric);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values, {}, &trace::Headline::value);
  const auto text = [](const trace::Headline& one) {
    const bool is_whole = one.kind == Kind::kCount;
    return trace_cell_text(is_whole ? Cell{static_cast<std::int64_t>(one.value)} : Cell{one.value}, one.kind);
  };
  return least.value == most.value ? text(least) : text(least) + " to " + text(most);
}

std::string phrases_text(const TraceReport& report) {
  std::vector<std::string> parts;
  for (const Phrase& phrase : kPhrases) {
    if (phrase.analysis != report.analysis) continue;
    const auto value = value_text(report, phrase.metric);
    if (!value) continue;
    std::string text(phrase.text);
    parts.push_back(text.replace(text.find('#'), 1, *value));
  }
  if (parts.empty()) return {};
  const std::string of = report.ranks.empty() ? "" : fmt::format("{} ranks: ", report.ranks.size());
  return of + join(parts, ", ");
}

std::optional<std::size_t> column_of(const DataTable& table, std::string_view key) {
  const auto found = std::ranges::find(table.columns, key, &trace::Column::key);
  if (found == table.columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.columns.begin());
}

std::string leader_text(const AnalysisResult& result, const Leader& leader) {
  const auto table = std::ranges::find(result.tables, leader.table, &DataTable::key);
  if (table == result.tables.end() || table->rows.empty()) return {};
  const auto share = column_of(*table, leader.share);
  if (!share) return {};
  const auto number = [&](const std::vector<Cell>& row) {
    const double* value = std::get_if<double>(&row.at(*share));
    return value == nullptr ? 0 : *value;
  };
  const std::vector<Cell>& row = *std::ranges::max_element(table->rows, {}, number);
  if (!(number(row) > 0)) return {};
  return fmt::format("{}: {}, {}", leader.what, trace_cell_text(row.front(), Kind::kText),
                     trace_cell_text(row[*share], Kind::kShare));
}

}  // namespace

std::vector<std::string> trace_answer(const TraceReport& report) {
  if (!report.result.answer.empty()) return report.result.answer;
  std::vector<std::string> answer;
  if (std::string text = phrases_text(report); !text.empty()) answer.push_back(std::move(text));
  for (const Leader& leader : kLeaders) {
    if (leader.analysis != report.analysis) continue;
    if (std::string text = leader_text(report.result, leader); !text.empty())
      answer.push_back(std::move(text));
  }
  if (answer.empty() && !report.result.notes.empty()) answer.push_back(report.result.notes.front());
  return answer;
}

}  // namespace headroom
