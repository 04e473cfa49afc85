// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/shown_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "headroom/base/text.h"
#include "headroom/command/cache_results.h"
#include "headroom/command/cache_run.h"
#include "headroom/command/command_records.h"
#include "headroom/compare/verdict.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/ddp/ddp.h"
#include "headroom/ranks/dispatch/dispatch.h"
#include "headroom/record/environment.h"
#include "headroom/report/run_sheet.h"

namespace headroom::cli {
namespace {

constexpr double kUsualMargin = 0.01;

std::string of_environment(const Record& record, const char* key) {
  if (!record.environment) return {};
  const auto found = record.environment->extra_info.find(key);
  return found == record.environment->extra_info.end() ? std::string() : found->second;
}

/// The latency of each command against that of the first of its group, which alone does not say how sampling
/// ended.
std::vector<Comparison> comparisons_of(const std::vector<Record>& records) {
  const Record* first = nullptr;
  std::vector<RoundComparison> suite;
  for (const Record& record : records) {
    if (record.metric.name != "latency") continue;
    const auto look = record.metric.extra_info.find(kLookKey);
    if (first == nullptr || (look == record.metric.extra_info.end() && record.samples.size() > 0)) {
      first = &record;
      continue;
    }
    const bool is_last = look == record.metric.extra_info.end() || look->second == "last";
    suite.push_back({compare_records(*first, record), is_last ? Look::kLast : Look::kRunning});
  }
  const double margin = records.empty()
                            ? kUsualMargin
                            : to_number(of_environment(records.front(), kMarginKey)).value_or(kUsualMargin);
  judge_rounds(suite, margin);
  std::vector<Comparison> comparisons;
  for (RoundComparison& one : suite) comparisons.push_back(std::move(one.comparison));
  return comparisons;
}

/// With what all commands whose work ranks do show below their own tables.
Sheet as_ranks_show(Sheet sheet, const std::vector<Record>& records,
                    Table (*of_each_rank)(const std::vector<Record>&)) {
  const auto& environment = records.front().environment;
  if (environment && std::ranges::find(environment->command, "--per-rank") != environment->command.end())
    sheet.table(of_each_rank(records));
  sheet.notes(reference_blas_text(records), Tone::kBad);
  return sheet;
}

Sheet shown_cache(const std::vector<Record>& records) {
  const std::string text = of_environment(records.front(), kCacheRunKey);
  if (text.empty()) return run_sheet(records);
  const ShownCacheRun shown = cache_run_from_json(text, "the run of a cache");
  return cache_sheet(shown.request, shown.run);
}

Sheet shown_dispatch(const std::vector<Record>& records) {
  const std::string expected = of_environment(records.front(), kExpectationsKey);
  const auto expectations = parse_dispatch_expectations(expected, "what was expected of the run");
  return as_ranks_show(dispatch_sheet(records, judge_expectations(expectations, records)), records,
                       dispatch_rank_table);
}

Sheet shown_ddp(const std::vector<Record>& records) {
  return as_ranks_show(ddp_sheet(records), records, ddp_rank_table);
}

Sheet shown_collectives(const std::vector<Record>& records) {
  return as_ranks_show(collectives_sheet(records), records, collectives_rank_table);
}

bool is_of_tool(const Record& record) {
  return record.benchmark.extra_info.contains("tool");
}

bool is_ddp(const Record& record) {
  return record.benchmark.name == "ddp";
}

bool is_collective(const Record& record) {
  return record.model.type == "collective";
}

/// An instrument: whether records are its own, and how it shows them.
struct Instrument {
  const char* kind;
  bool (*made)(const Record& record);
  Sheet (*shown)(const std::vector<Record>& records);
};

/// The first that made a record shows it.
constexpr Instrument kInstruments[] = {
    {"run", [](const Record& record) { return record.model.type == "command" && !is_of_tool(record); },
     shown_commands},
    {"cache", [](const Record& record) { return record.model.type == "compile cache"; }, shown_cache},
    {"dispatch", [](const Record& record) { return record.model.type == "operator dispatch"; },
     shown_dispatch},
    {"ddp", is_ddp, shown_ddp},
    {"collectives", is_collective, shown_collectives},
    {"run", [](const Record&) { return true; }, run_sheet},
};

const Instrument& instrument_of(const Record& record) {
  return *std::ranges::find_if(kInstruments, [&](const Instrument& one) { return one.made(record); });
}

/// A sweep of data-parallel training times collectives, too, and shows them itself.
bool is_sweep(const std::vector<Record>& records) {
  return std::ranges::any_of(records, is_ddp) &&
         std::ranges::all_of(records, [](const Record& one) { return is_ddp(one) || is_collective(one); });
}

}  // namespace

Sheet shown_commands(const std::vector<Record>& records) {
  Sheet sheet = command_sheet(records, comparisons_of(records));
  const std::string counters = records.empty() ? "" : of_environment(records.front(), "hardware_counters");
  constexpr std::string_view kNone = "none: ";
  if (counters.starts_with(kNone))
    sheet.notes(fmt::format("  no hardware counters: {}\n", counters.substr(kNone.size())));
  if (counters == "user space only") {
    sheet.notes(
        "  hardware counters are of user space only; lower /proc/sys/kernel/perf_event_paranoid for all\n");
  }
  return sheet;
}

Sheet shown_records(const std::vector<Record>& records) {
  if (is_sweep(records)) return shown_ddp(records);
  std::vector<const Instrument*> order;
  for (const Record& record : records) {
    const Instrument& made = instrument_of(record);
    if (std::ranges::find(order, &made) == order.end()) order.push_back(&made);
  }
  if (order.size() == 1) return order.front()->shown(records);
  Sheet sheet;
  for (const Instrument* one : order) {
    std::vector<Record> own;
    for (const Record& record : records) {
      if (&instrument_of(record) == one) own.push_back(record);
    }
    sheet.append(one->shown(own));
  }
  return sheet;
}

bool shows_cases(const std::vector<Record>& records) {
  return std::ranges::all_of(
      records, [](const Record& one) { return std::string_view(instrument_of(one).kind) == "run"; });
}

std::vector<InstrumentRecords> by_instrument(std::vector<Record> records) {
  if (is_sweep(records)) {
    Sheet sheet = shown_ddp(records);
    return {{"ddp", std::move(records), std::move(sheet)}};
  }
  std::vector<const Instrument*> order;
  std::vector<InstrumentRecords> parts;
  for (Record& record : records) {
    const Instrument& made = instrument_of(record);
    const auto place = std::ranges::find(order, &made) - order.begin();
    if (place == std::ssize(order)) {
      order.push_back(&made);
      parts.push_back({made.kind, {}, {}});
    }
    parts[static_cast<std::size_t>(place)].records.push_back(std::move(record));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].sheet = order[i]->shown(parts[i].records);
  return parts;
}

}  // namespace headroom::cli
