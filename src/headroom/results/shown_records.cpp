// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/shown_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/command/cache_results.h"
#include "headroom/command/cache_run.h"
#include "headroom/command/command_records.h"
#include "headroom/compare/match.h"
#include "headroom/compare/verdict.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/ddp/ddp.h"
#include "headroom/ranks/dispatch/dispatch.h"
#include "headroom/record/environment.h"
#include "headroom/report/run_view.h"
#include "headroom/stats/quantile.h"

namespace headroom::cli {
namespace {

constexpr double kDefaultMargin = 0.01;

const InstrumentOptions& options_of(const std::vector<Record>& records) {
  static const InstrumentOptions kNone;
  return records.empty() || !records.front().environment ? kNone : records.front().environment->options;
}

View shown_commands(const std::vector<Record>& records) {
  std::vector<Comparison> comparisons;
  for (RoundComparison& one : judged_commands(records)) comparisons.push_back(std::move(one.comparison));
  View view = command_view(records, comparisons);
  const InstrumentOptions& options = options_of(records);
  if (options.counters == CounterScope::kNone)
    view.notes(fmt::format("  no hardware counters: {}\n", options.no_counters));
  if (options.counters == CounterScope::kUserSpace) {
    view.notes(
        "  hardware counters cover user space only; lower /proc/sys/kernel/perf_event_paranoid to count "
        "all\n");
  }
  return view;
}

View add_rank_table(View view, const std::vector<Record>& records,
                    Table (*of_each_rank)(const std::vector<Record>&)) {
  if (options_of(records).per_rank) view.table(of_each_rank(records));
  view.notes(reference_blas_text(records), Tone::kBad);
  return view;
}

View shown_cache(const std::vector<Record>& records) {
  const Json& run = options_of(records).cache_run;
  if (run.is_null()) return run_view(records);
  const ShownCacheRun shown = cache_run_from_json(run, "the run of a cache");
  return cache_view(shown.request, shown.run);
}

View shown_dispatch(const std::vector<Record>& records) {
  const auto verdicts = judge_expectations(options_of(records).expectations, records);
  return add_rank_table(dispatch_view(records, verdicts), records, dispatch_rank_table);
}

View shown_ddp(const std::vector<Record>& records) {
  return add_rank_table(ddp_view(records), records, ddp_rank_table);
}

View shown_collectives(const std::vector<Record>& records) {
  return add_rank_table(collectives_view(records), records, collectives_rank_table);
}

struct InstrumentView {
  const char* kind;
  View (*shown)(const std::vector<Record>& records);
};

constexpr InstrumentView kCommandView{"run", shown_commands}, kCacheView{"cache", shown_cache},
    kDispatchView{"dispatch", shown_dispatch}, kDdpView{"ddp", shown_ddp},
    kCollectivesView{"collectives", shown_collectives}, kRunView{"run", run_view};

const InstrumentView& view_of(const Record& record) {
  switch (record.instrument) {
    case Instrument::kCommands:
      return kCommandView;
    case Instrument::kCache:
      return kCacheView;
    case Instrument::kDispatch:
      return kDispatchView;
    case Instrument::kDdp:
      return kDdpView;
    case Instrument::kCollectives:
      return kCollectivesView;
    case Instrument::kRun:
    case Instrument::kTrace:
    case Instrument::kImport:
      break;
  }
  return kRunView;
}

/// A DDP sweep also times collectives.
bool is_sweep(const std::vector<Record>& records) {
  const auto is_of = [](Instrument instrument) {
    return [instrument](const Record& one) { return one.instrument == instrument; };
  };
  const auto is_ddp = is_of(Instrument::kDdp), is_collective = is_of(Instrument::kCollectives);
  return std::ranges::any_of(records, is_ddp) &&
         std::ranges::all_of(records, [&](const Record& one) { return is_ddp(one) || is_collective(one); });
}

using Occurrences = ByResult<std::size_t>;

bool has_equal_results(const std::vector<Record>& records) {
  Occurrences seen;
  return std::ranges::any_of(records, [&](const Record& record) { return seen[&record]++ > 0; });
}

/// Splits by environment, then by repetition.
std::vector<ShownRun> runs_of_file(FileResults file) {
  std::vector<ShownRun> runs;
  if (!has_equal_results(file.records)) {
    runs.push_back({file.path.string(), std::move(file.records)});
    return runs;
  }
  std::map<const Environment*, Occurrences> seen;
  std::vector<std::size_t> run_of;
  std::map<std::pair<const Environment*, std::size_t>, std::size_t> places;
  for (const Record& record : file.records) {
    const Environment* environment = record.environment.get();
    const std::size_t occurrence = seen[environment][&record]++;
    run_of.push_back(places.try_emplace({environment, occurrence}, places.size()).first->second);
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    runs.push_back({fmt::format("{}, run {}", file.path.string(), i + 1)});
  for (std::size_t i = 0; i < run_of.size(); ++i)
    runs[run_of[i]].records.push_back(std::move(file.records[i]));
  return runs;
}

/// Drops properties of single runs.
void clear_run_properties(Record& record) {
  if (record.runs.size() < 2) return;
  record.ratio.reset();
  record.modes = {};
  std::vector<double> fractions;
  for (const RunValue& run : record.runs) {
    if (run.fraction > 0) fractions.push_back(run.fraction);
  }
  if (!record.limit || fractions.empty()) return;
  record.limit->fraction = median(fractions);
  record.limit->interval.reset();
  record.limit->rounds.reset();
}

std::optional<ShownRun> joined_run(const std::vector<ShownRun>& runs) {
  std::vector<Record> all;
  for (const ShownRun& run : runs) std::ranges::copy(run.records, std::back_inserter(all));
  try {
    JoinedRecords joined = join_duplicates(std::move(all));
    std::ranges::for_each(joined.records, clear_run_properties);
    return ShownRun{"", std::move(joined.records), join(joined.notes, "; ")};
  } catch (const Error&) {
    return std::nullopt;  // inconvertible units
  }
}

}  // namespace

std::vector<RoundComparison> judged_commands(const std::vector<Record>& records) {
  const Record* first = nullptr;
  std::vector<RoundComparison> suite;
  for (const Record& record : records) {
    if (record.metric.name != "latency") continue;
    // Only the first of a group has no look.
    if (first == nullptr || (!record.look && !record.samples.empty())) {
      first = &record;
      continue;
    }
    suite.push_back({compare_records(*first, record), record.look.value_or(Look::kLast)});
  }
  judge_rounds(suite, options_of(records).margin.value_or(kDefaultMargin));
  return suite;
}

View shown_records(const std::vector<Record>& records) {
  if (is_sweep(records)) return shown_ddp(records);
  std::vector<const InstrumentView*> order;
  for (const Record& record : records) {
    const InstrumentView& made = view_of(record);
    if (std::ranges::find(order, &made) == order.end()) order.push_back(&made);
  }
  if (order.size() == 1) return order.front()->shown(records);
  View view;
  for (const InstrumentView* one : order) {
    std::vector<Record> own;
    for (const Record& record : records) {
      if (&view_of(record) == one) own.push_back(record);
    }
    view.append(one->shown(own));
  }
  return view;
}

bool shows_cases(const std::vector<Record>& records) {
  return std::ranges::all_of(records, [](const Record& one) { return &view_of(one) == &kRunView; });
}

std::vector<InstrumentRecords> group_by_instrument(std::vector<Record> records) {
  if (is_sweep(records)) {
    View view = shown_ddp(records);
    return {{"ddp", std::move(records), std::move(view)}};
  }
  std::vector<const InstrumentView*> order;
  std::vector<InstrumentRecords> parts;
  for (Record& record : records) {
    const InstrumentView& made = view_of(record);
    const auto place = std::ranges::find(order, &made) - order.begin();
    if (place == std::ssize(order)) {
      order.push_back(&made);
      parts.push_back({made.kind, {}, {}});
    }
    parts[static_cast<std::size_t>(place)].records.push_back(std::move(record));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].view = order[i]->shown(parts[i].records);
  return parts;
}

std::vector<ShownRun> runs_to_show(std::vector<FileResults> files) {
  constexpr std::size_t kShownOneByOne = 4;
  std::vector<ShownRun> runs;
  for (FileResults& file : files) std::ranges::move(runs_of_file(std::move(file)), std::back_inserter(runs));
  if (runs.size() > 1) {
    Occurrences seen;
    const bool shared = std::ranges::any_of(runs, [&](const ShownRun& run) {
      return std::ranges::any_of(run.records, [&](const Record& record) { return seen[&record]++ > 0; });
    });
    if (!shared) {
      for (std::size_t i = 1; i < runs.size(); ++i)
        std::ranges::move(runs[i].records, std::back_inserter(runs.front().records));
      runs.resize(1);
    }
  }
  if (runs.size() == 1) runs.front().title.clear();
  const bool of_cases =
      std::ranges::all_of(runs, [](const ShownRun& run) { return shows_cases(run.records); });
  if (runs.size() <= kShownOneByOne || !of_cases) return runs;
  std::optional<ShownRun> joined = joined_run(runs);
  if (!joined) return runs;
  runs.clear();
  runs.push_back(std::move(*joined));
  return runs;
}

}  // namespace headroom::cli
