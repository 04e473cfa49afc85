// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/regular_expression.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/command_line.h"
#include "headroom/compare/comparison.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/process/spawn.h"
#include "headroom/record/disturbance.h"
#include "headroom/record/formats.h"
#include "headroom/record/metrics.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

/// Margins of schema 1 came from paired measurements, without run-to-run spread.
constexpr int kSpreadsSchema = 2;
constexpr const char* kCalibrated = "headroom run --calibrate-noise";
/// Newest runs to scan, and those of this machine to read.
constexpr std::size_t kNewestRuns = 200, kReadRuns = 12;

std::filesystem::path spreads_path(const std::string& fingerprint) {
  return user_data_folder() / "noise" / (fingerprint + ".json");
}

std::optional<RunSpread> spread_of(std::vector<double> values) {
  if (!std::ranges::all_of(values, [](double value) { return value > 0 && std::isfinite(value); })) return {};
  return run_spread(std::array{std::move(values)});
}

void write(Json& json, const char* name, const std::optional<RunSpread>& spread) {
  if (spread) json[name] = {{"log_sd", spread->log_sd}, {"degrees", spread->degrees}};
}

std::optional<RunSpread> read(const Json& json, const char* name, const std::string& where) {
  if (!json.contains(name)) return std::nullopt;
  const Json& spread = json_member(json, name, where);
  return RunSpread{json_number(spread, "log_sd", where),
                   static_cast<std::size_t>(json_number(spread, "degrees", where))};
}

RunSpreads merged(RunSpreads known, const RunSpreads& more) {
  for (const auto& [name, other] : more) {
    RunKnowledge& one = known[name];
    one.values = pooled(one.values, other.values);
    one.fractions = pooled(one.fractions, other.fractions);
    one.source += (one.source.empty() ? "" : " and ") + other.source;
  }
  return known;
}

RunSpreads given_spreads(const std::vector<Record>& test, double share) {
  constexpr std::size_t kNoDoubt = 1'000'000;
  RunSpreads spreads;
  for (const Record& record : test) {
    spreads[identity(record)] = {RunSpread{std::log1p(share), kNoDoubt}, std::nullopt,
                                 "--run-spread " + format_percent(share)};
  }
  return spreads;
}

/// Adds their number of runs to `runs`.
std::vector<Record> earlier_records(Store& history, const Environment& now, std::size_t& runs) {
  std::vector<Record> found;
  std::vector<StoredRun> all = history.runs(kNewestRuns);
  for (auto run = all.rbegin(); run != all.rend() && runs < kReadRuns; ++run) {
    if (run->fingerprint != now.fingerprint || run->time >= now.timestamp) continue;
    std::vector<Record> records = history.records(run->id);
    std::erase_if(records, [](const Record& record) { return !disturbance_reasons(record).empty(); });
    if (records.empty()) continue;
    std::ranges::move(records, std::back_inserter(found));
    ++runs;
  }
  return found;
}

int rank_of(const Record& record) {
  if (record.metric.name == "latency") return 2;
  return record.metric.headline ? 1 : 0;
}

void keep_shown_metrics(std::vector<Record>& records) {
  ByCase<const Record*> best;
  std::vector<const Record* const*> shown;  // for each record, the slot of its case
  best.reserve(records.size());
  shown.reserve(records.size());
  for (const Record& record : records) {
    const Record*& found = best.try_emplace(&record, &record).first->second;
    if (rank_of(record) > rank_of(*found)) found = &record;
    shown.push_back(&found);
  }
  if (best.size() == records.size()) return;
  std::vector<bool> stays;
  for (std::size_t i = 0; i < records.size(); ++i)
    stays.push_back((*shown[i])->metric.name == records[i].metric.name);
  std::size_t i = 0;
  std::erase_if(records, [&](const Record&) { return !stays[i++]; });
}

std::vector<std::string> command_for(const Record& record, const std::string& command,
                                     const std::string& json) {
  if (trimmed(command).empty()) {
    throw Error("--confirm is empty: give a command, for example 'headroom run --runner OLD --runner NEW'");
  }
  std::vector<std::string> arguments = with_context("--confirm", [&] { return split_command_line(command); });
  arguments.push_back(record.model.name);
  for (const auto& [axis, value] : record.axes) {
    arguments.insert(arguments.end(), {"-a", axis + "=" + value.text()});
  }
  arguments.insert(arguments.end(), {"--backend", record.model.backend, "--json", json});
  if (record.threads > 0) arguments.insert(arguments.end(), {"--threads", std::to_string(record.threads)});
  if (record.caches == "hot") arguments.emplace_back("--hot");
  return arguments;
}

std::vector<Record> rerun(const Record& record, const std::string& command) {
  const TemporaryFolder folder;
  const std::string json = (folder.path() / "records.json").string();
  SpawnOptions options;
  options.arguments = command_for(record, command, json);
  Child child(options);
  const auto status = child.wait(std::chrono::milliseconds(-1));
  if (!status->ok()) {
    throw Error("--confirm: the command failed (" + status->text() + "): " + join(options.arguments, " ") +
                "; " + join(child.stderr_lines().lines(), " | "));
  }
  return read_records(json);
}

/// The old build's first. Throws Error if not two.
std::vector<const Record*> both_of(const std::vector<Record>& records, const Record& record) {
  std::vector<const Record*> found;
  for (const Record& candidate : records) {
    if (identity(candidate) == identity(record)) found.push_back(&candidate);
  }
  if (found.size() != 2) {
    throw Error(
        fmt::format("--confirm: the command measured {} {} times; it must measure it with two runners",
                    case_name(record), found.size()));
  }
  return found;
}

bool is_suspect(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kRegression) return true;
  const auto looks_worse = [&](const std::optional<RatioEstimate>& ratio) {
    return ratio && comparison.direction != Direction::kUnknown &&
           worsening(*ratio, comparison.direction).ratio > 1 + comparison.margin;
  };
  return comparison.verdict == Verdict::kInconclusive &&
         (looks_worse(comparison.ratio) || (comparison.modes && looks_worse(comparison.modes->share_effect)));
}

double sort_key(const Comparison& comparison, DiffOptions::Sort sort) {
  const double last = -std::numeric_limits<double>::infinity();
  if (sort == DiffOptions::Sort::kTime) return comparison.problem.empty() ? comparison.baseline_value : last;
  if (!comparison.ratio) return last;
  return worsening(*comparison.ratio, comparison.direction).ratio;
}

void sort_comparisons(std::vector<Comparison>& comparisons, DiffOptions::Sort sort) {
  if (sort == DiffOptions::Sort::kNone) return;
  if (sort == DiffOptions::Sort::kName) {
    std::ranges::stable_sort(comparisons, {}, [](const Comparison& c) { return case_name(*c.baseline); });
  } else {
    std::ranges::stable_sort(comparisons, std::ranges::greater{},
                             [&](const Comparison& c) { return sort_key(c, sort); });
  }
}

void refuse_other_machine(const DiffSide& baseline, const DiffSide& test, const DiffOptions& options) {
  if (!options.gate || options.across_machines) return;
  if (environment_differences(baseline.records, test.records).different_machines) {
    throw Error(baseline.label + " and " + test.label +
                " were measured on different machines: a gate would compare the machines; give "
                "--across-machines to allow it");
  }
}

void add_comparisons(std::vector<Comparison>& comparisons, std::size_t test_index, const Matches& matches,
                     const RunSpreads& known, bool two_machines, const DiffOptions& options) {
  comparisons.reserve(comparisons.size() + matches.pairs.size());
  for (const auto& [before, after] : matches.pairs) {
    const auto spread = known.empty() ? known.end() : known.find(identity(*before));
    comparisons.push_back(
        compare_records(*before, *after, spread == known.end() ? RunKnowledge{} : spread->second));
    comparisons.back().test_index = test_index;
    if (two_machines && !options.across_machines)
      comparisons.back().doubts.emplace_back(
          "measured on different machines (--across-machines compares them)");
  }
}

void apply_directions(std::vector<Record>& records, const DiffOptions& options) {
  const auto names = [](const std::vector<std::string>& metrics, const Record& record) {
    return std::ranges::find(metrics, record.metric.name) != metrics.end();
  };
  for (Record& record : records) {
    if (names(options.higher_is_better, record)) record.metric.direction = Direction::kHigherIsBetter;
    if (names(options.lower_is_better, record)) record.metric.direction = Direction::kLowerIsBetter;
  }
}

void require_metrics(const char* option, const std::vector<std::string>& metrics, const DiffSide& baseline,
                     const std::vector<DiffSide>& tests) {
  for (const std::string& metric : metrics) {
    const auto has = [&](const DiffSide& side) {
      return std::ranges::find(side.metrics, metric) != side.metrics.end();
    };
    if (has(baseline) || std::ranges::any_of(tests, has)) continue;
    throw Error(fmt::format("{} {}: no such metric; {} has {}", option, quote(metric), baseline.label,
                            join(baseline.metrics, ", ")));
  }
}

/// Selects by metric and case; without a metric, per case, backend and runner the latency, else the headline,
/// else the first.
std::vector<Record> selected(std::vector<Record> records, const DiffOptions& options) {
  if (!options.filter.empty()) {
    const RegularExpression pattern(options.filter);
    std::erase_if(records, [&](const Record& record) { return !pattern.is_in(case_name(record)); });
  }
  if (!options.metrics.empty()) {
    std::erase_if(records, [&](const Record& record) {
      return std::ranges::none_of(options.metrics, [&](const std::string& metric) {
        return is_same_metric(metric, record.metric.name);
      });
    });
  } else if (!options.all_metrics) {
    keep_shown_metrics(records);
  }
  return records;
}

/// Measures each suspected regression again and adopts the new verdict. `command`: a `headroom run` of both
/// builds, interleaved; case, axes, backend, caches and --json are appended. Returns a sentence per case.
/// Throws Error if it cannot start or lacks records of the case from two runners.
std::vector<std::string> confirm_regressions(std::span<Comparison> comparisons, const JudgeRule& rule,
                                             const std::string& command) {
  std::vector<std::string> said;
  for (Comparison& comparison : comparisons) {
    if (!is_suspect(comparison)) continue;
    const std::vector<Record> records = rerun(*comparison.baseline, command);
    const auto both = both_of(records, *comparison.baseline);
    std::vector<Comparison> again{compare_records(*both[0], *both[1])};
    judge(again, rule);
    const bool confirmed = again.front().verdict == Verdict::kRegression;
    comparison.ratio = again.front().ratio;
    comparison.within_runs = again.front().within_runs;
    comparison.estimator = again.front().estimator;
    comparison.modes = again.front().modes;
    comparison.samples = again.front().samples;
    comparison.verdict = again.front().verdict;
    comparison.p_value = again.front().p_value;
    comparison.doubts.clear();
    said.push_back(fmt::format("{}: {} by an interleaved rerun ({}, ratio {:.4f})",
                               case_name(*comparison.baseline), confirmed ? "confirmed" : "not confirmed",
                               to_string(again.front().verdict),
                               again.front().ratio ? again.front().ratio->ratio : 0));
  }
  return said;
}

}  // namespace

RunSpreads spreads_of(const std::vector<Record>& records, const std::string& source) {
  std::map<std::string, std::array<std::vector<double>, 2>> runs;
  for (const Record& record : records) {
    if (record.outcome.kind != Outcome::Kind::kMeasured) continue;
    auto& [values, fractions] = runs[identity(record)];
    for (const RunValue& run : runs_of(record)) {
      values.push_back(run.value);
      if (run.fraction > 0) fractions.push_back(run.fraction);
    }
  }
  RunSpreads spreads;
  for (auto& [name, run] : runs) {
    RunKnowledge known{spread_of(std::move(run[0])), spread_of(std::move(run[1])), source};
    if (known.values) spreads[name] = std::move(known);
  }
  return spreads;
}

RunSpreads calibrated_spreads(const std::string& fingerprint) {
  const std::filesystem::path path = spreads_path(fingerprint);
  if (fingerprint.empty() || !std::filesystem::exists(path)) return {};
  const Json file = parse_json(read_file(path), path.string());
  const double schema = json_number(file, "schema", path.string());
  if (schema > kSpreadsSchema)
    throw Error(path.string() + ": written by a newer headroom; update headroom, or remove the file");
  if (schema < kSpreadsSchema) return {};
  RunSpreads spreads;
  for (const auto& [name, entry] : json_member(file, "spreads", path.string()).items()) {
    const std::string where = path.string() + ": /spreads/" + name;
    spreads[name] = {read(entry, "values", where), read(entry, "fractions", where), kCalibrated};
  }
  return spreads;
}

std::string store_spreads(const std::string& fingerprint, const RunSpreads& spreads) {
  RunSpreads all = calibrated_spreads(fingerprint);
  for (const auto& [name, known] : spreads) all[name] = known;
  Json entries = Json::object();
  for (const auto& [name, known] : all) {
    entries[name] = Json::object();
    write(entries[name], "values", known.values);
    write(entries[name], "fractions", known.fractions);
  }
  const Json file{{"schema", kSpreadsSchema}, {"fingerprint", fingerprint}, {"spreads", std::move(entries)}};
  const std::filesystem::path path = spreads_path(fingerprint);
  make_folders_above(path);
  write_file_atomically(path, dump_json_pretty(file) + "\n");
  return path.string();
}

RunSpreads historic_spreads(const std::vector<Record>& test, const std::string& store) {
  if (test.empty() || !test.front().environment || test.front().environment->fingerprint.empty()) return {};
  const std::string name = store.empty() ? default_store() : store;
  const bool is_database = name.starts_with("postgres");
  if (!is_database && !std::filesystem::exists(name.starts_with("sqlite:") ? name.substr(7) : name))
    return {};
  const auto history = open_store(name, StoreAccess::kRead);
  std::size_t runs = 0;
  const std::vector<Record> records = earlier_records(*history, *test.front().environment, runs);
  return spreads_of(records, fmt::format("the last {} runs on this machine", runs));
}

RunSpreads known_spreads(const std::vector<Record>& test, const std::string& store,
                         const std::optional<double>& stated) {
  if (stated) return given_spreads(test, *stated);
  const auto& environment = test.front().environment;
  // An unreadable history must not prevent the comparison.
  try {
    const RunSpreads calibrated = environment ? calibrated_spreads(environment->fingerprint) : RunSpreads{};
    return merged(calibrated, historic_spreads(test, store));
  } catch (const Error& error) {
    print_message("cannot read the run-to-run spread of earlier runs: {}", error.what());
    return {};
  }
}

DiffSide read_side(const std::string& operand, const DiffOptions& options) {
  DiffSide side{operand, {}, {}};
  OperandRecords found = records_of_operand(operand, options.store, options.max_memory, options.from);
  for (const std::string& warning : found.warnings) print_sentence(warning);
  std::vector<Record> records = found.take_records();
  for (const Record& record : records) {
    if (std::ranges::find(side.metrics, record.metric.name) == side.metrics.end()) {
      side.metrics.push_back(record.metric.name);
    }
  }
  apply_directions(records, options);
  JoinedRecords joined =
      with_context(operand, [&] { return join_duplicates(selected(std::move(records), options)); });
  for (const std::string& note : joined.notes) print_message("{}: {}", operand, note);
  side.records = std::move(joined.records);
  // Noise readings dominate the memory.
  for (Record& record : side.records) {
    if (!disturbance_reasons(record).empty()) continue;
    for (ProcessSamples& process : record.samples) {
      process.noise = {};
      std::vector<DeviceNoise>().swap(process.device);
    }
  }
  if (side.records.empty()) {
    throw Error(operand + ": no result matches --metric and --filter; its metrics are " +
                join(side.metrics, ", "));
  }
  return side;
}

DiffReport compare_sides(const DiffSide& baseline, const std::vector<DiffSide>& tests,
                         const DiffOptions& options) {
  require_metrics("--higher-is-better", options.higher_is_better, baseline, tests);
  require_metrics("--lower-is-better", options.lower_is_better, baseline, tests);
  DiffReport report;
  report.baseline = baseline.label;
  report.percentiles = options.percentiles;
  report.shift = options.shift;
  report.multiplicity = options.judge.multiplicity;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    refuse_other_machine(baseline, tests[i], options);
    Matches matches = match_records(baseline.records, tests[i].records);
    EnvironmentDifferences differences = environment_differences(baseline.records, tests[i].records);
    const RunSpreads known = known_spreads(tests[i].records, options.store, options.run_spread);
    add_comparisons(report.comparisons, i, matches, known, differences.different_machines, options);
    missing += matches.only_baseline.size();
    report.tests.push_back({tests[i].label, std::move(differences), std::move(matches.only_baseline),
                            std::move(matches.only_test)});
  }
  judge(report.comparisons, options.judge);
  if (!options.confirm.empty()) {
    for (const std::string& sentence :
         confirm_regressions(report.comparisons, options.judge, options.confirm)) {
      print_sentence(sentence);
    }
  }
  judge_tails(report.comparisons, options.tails, options.judge.alpha);
  if (options.gate) report.gate = gate_result(report.comparisons, missing);
  sort_comparisons(report.comparisons, options.sort);
  return report;
}

}  // namespace headroom::cli
