// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collectives/collectives_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/report/measured_case.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_sheet.h"

namespace headroom {
namespace {

std::string size_text(const Record& record) {
  return format_bytes(static_cast<double>(whole_axis(record, "bytes").value_or(0)));
}

std::string info(const Record& record, const std::string& key) {
  const auto found = record.metric.extra_info.find(key);
  return found == record.metric.extra_info.end() ? "" : found->second;
}

std::string us_text(double us) {
  return format_time_ns(us * kNsPerUs);
}

/// "1.20 ms [1.10 ms, 1.40 ms]": the interval of a percentile is not even.
std::string time_in_interval(const Record* record) {
  if (record == nullptr) return "";
  if (!record->interval) return us_text(record->metric.value) + " [too few]";
  return fmt::format("{} [{}, {}]", us_text(record->metric.value), us_text(record->interval->low),
                     us_text(record->interval->high));
}

std::string slowest_text(const Record& latency) {
  const auto share = to_number(info(latency, "slowest share"));
  return share ? fmt::format("rank {} in {}", info(latency, "slowest rank"), format_percent(*share)) : "";
}

std::string name_of(const Record& record, const std::vector<Record>& records) {
  return name_with_runner(record, records) + (record.model.extra_info.contains("composed of") ? " *" : "");
}

Table time_table(const std::vector<MeasuredCase>& rows, const std::vector<Record>& records) {
  Table table({{"collective"},
               {"size", Align::kRight},
               {"ranks", Align::kRight},
               {"p50 ±95 %", Align::kRight},
               {"algbw GB/s", Align::kRight},
               {"busbw GB/s ±95 %", Align::kRight},
               {"of limit", Align::kRight},
               {"skew p50", Align::kRight},
               {"slowest"},
               {"calls", Align::kRight, "calls"},
               {"data", Align::kLeft, "data"}},
              3);
  for (const MeasuredCase& row : rows) {
    const Record* latency = row.find("latency");
    if (latency == nullptr || latency->samples.empty()) continue;
    const Record *algbw = row.find("algbw"), *skew = row.find("skew");
    table.row({name_of(*latency, records), size_text(*latency), axis_text(*latency, "ranks"),
               metric_time_with_interval(latency), algbw == nullptr ? "" : format_number(algbw->metric.value),
               metric_number_with_interval(row.find("busbw")), limit_text(*latency), metric_time(skew),
               slowest_text(*latency), std::to_string(sample_count(*latency)),
               latency->verified ? "right" : ""});
    if (const std::string ratio = ratio_text(*latency); !ratio.empty()) table.line(ratio);
  }
  return table;
}

Table percentile_table(const std::vector<MeasuredCase>& rows, const std::vector<Record>& records) {
  Table table({{"latency [95 %]"},
               {"size", Align::kRight},
               {"ranks", Align::kRight},
               {"p75", Align::kRight},
               {"p90", Align::kRight},
               {"p95", Align::kRight},
               {"p99", Align::kRight}},
              3);
  for (const MeasuredCase& row : rows) {
    const Record* latency = row.find("latency");
    if (latency == nullptr || latency->samples.empty()) continue;
    std::vector<std::string> cells{name_with_runner(*latency, records), size_text(*latency),
                                   axis_text(*latency, "ranks")};
    for (const char* percentile : {"latency p75", "latency p90", "latency p95", "latency p99"})
      cells.push_back(time_in_interval(row.find(percentile)));
    table.row(std::move(cells));
  }
  return table;
}

std::string notes_of(const std::vector<MeasuredCase>& rows) {
  std::set<std::string> composed;
  std::string text;
  for (const MeasuredCase& row : rows) {
    const auto how = row.first->model.extra_info.find("composed of");
    if (how == row.first->model.extra_info.end()) continue;
    if (composed.insert(row.first->model.name).second) {
      text += fmt::format("  * {} has no {}: measured is {}\n", row.first->model.backend,
                          row.first->model.name, how->second);
    }
  }
  return text;
}

/// The one furthest from its limit, else the one of the highest bus bandwidth.
void answer_bandwidth(Sheet& sheet, const std::vector<MeasuredCase>& rows) {
  const Record *furthest = nullptr, *fastest = nullptr;
  std::vector<const Record*> timed;
  for (const MeasuredCase& row : rows) {
    const Record *latency = row.find("latency"), *busbw = row.find("busbw");
    if (latency == nullptr) continue;
    timed.push_back(latency);
    const bool is_further =
        latency->limit && (furthest == nullptr || latency->limit->fraction < furthest->limit->fraction);
    if (is_further) furthest = latency;
    if (busbw != nullptr && (fastest == nullptr || busbw->metric.value > fastest->metric.value))
      fastest = busbw;
  }
  const auto name = [](const Record& record) {
    return fmt::format("{} of {} by {} ranks", record.model.name, size_text(record),
                       axis_text(record, "ranks"));
  };
  if (furthest != nullptr) {
    const std::string share = limit_text(*furthest);
    sheet.answer(timed.size() == 1
                     ? fmt::format("{} reaches {} of its limit", name(*furthest), share)
                     : fmt::format("{} is furthest from its limit: {}", name(*furthest), share));
  }
  if (fastest != nullptr) {
    sheet.answer(fmt::format("{} moves most: {} GB/s of bus bandwidth", name(*fastest),
                             metric_number_with_interval(fastest)));
  }
  answer_doubts(sheet, timed, "cases");
}

}  // namespace

std::string collective_lines_text(const std::vector<Record>& records) {
  const auto time = [](double us) { return signed_time(us * kNsPerUs); };
  std::string text;
  const Record* alpha = nullptr;
  for (const Record& record : records) {
    if (record.metric.name == "alpha") alpha = &record;
    if (record.metric.name != "beta" || alpha == nullptr) continue;
    text += fmt::format("  {} ranks: {} alone takes {} + {} a MiB (medians of {} sizes, within {})",
                        axis_text(record, "ranks"), name_with_runner(record, records),
                        time(alpha->metric.value), time(record.metric.value), info(record, "sizes"),
                        info(record, "worst error of the line"));
    if (alpha->limit && record.limit)
      text += fmt::format("; its limit {} + {}", time(alpha->limit->value), time(record.limit->value));
    text += "\n";
  }
  return text;
}

Sheet collectives_sheet(const std::vector<Record>& records) {
  const std::vector<MeasuredCase> rows = measured_cases(records);
  Sheet sheet;
  answer_unmeasured(sheet, rows, [](const Record& one) { return one.model.name + " of " + size_text(one); });
  answer_bandwidth(sheet, rows);
  sheet.table(time_table(rows, records)).table(percentile_table(rows, records));
  if (sheet.has_tables()) {
    sheet.notes(notes_of(rows), Tone::kPlain).notes(collective_lines_text(records), Tone::kPlain);
    sheet.notes(
        "  time: of one call, from a barrier until the slowest rank has it; bandwidths by nccl-tests' "
        "formulas\n");
    if (std::ranges::any_of(records, [](const Record& one) { return one.limit.has_value(); })) {
      sheet.notes(
          "  limit: the bytes that a rank has to send, from each rank to the next without a library, by "
          "shared memory or loopback, whichever is faster, in the same rounds\n");
    }
  }
  return sheet.notes(
      text_of_unmeasured(rows, [](const Record& one) { return one.model.name + " of " + size_text(one); }),
      Tone::kBad);
}

Table collectives_rank_table(const std::vector<Record>& records) {
  return rank_table(measured_cases(records), records, "collective", {{"size", size_text}},
                    {{"p50 of the rank", "rank latency"}});
}

}  // namespace headroom
