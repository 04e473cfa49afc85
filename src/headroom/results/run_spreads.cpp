// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/run_spreads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/units.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/record/disturbance.h"

namespace headroom::cli {
namespace {

/// 1 held margins of the gate, from pairs measured side by side: they told nothing of runs apart.
constexpr int kSpreadsSchema = 2;
constexpr const char* kCalibrated = "headroom run --calibrate-noise";
/// The newest runs that are looked at, and of how many of them on the machine the records are read.
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

RunSpreads stated_spreads(const std::vector<Record>& test, double share) {
  constexpr std::size_t kNoDoubt = 1'000'000;
  RunSpreads spreads;
  for (const Record& record : test) {
    spreads[identity(record)] = {RunSpread{std::log1p(share), kNoDoubt}, std::nullopt,
                                 "--run-spread " + format_percent(share)};
  }
  return spreads;
}

/// Records of earlier runs on the machine, of as many as are read.
std::vector<Record> earlier_records(Store& history, const Environment& now, std::size_t& runs) {
  std::vector<Record> found;
  std::vector<StoredRun> all = history.runs(kNewestRuns);
  for (auto run = all.rbegin(); run != all.rend() && runs < kReadRuns; ++run) {
    if (run->fingerprint != now.fingerprint || run->time >= now.timestamp) continue;
    std::vector<Record> records = history.records(run->id);
    // What was disturbed tells of the disturbance, not of runs.
    std::erase_if(records, [](const Record& record) { return !troubles_of(record).empty(); });
    if (records.empty()) continue;
    std::ranges::move(records, std::back_inserter(found));
    ++runs;
  }
  return found;
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
    throw Error(path.string() + ": written by a newer headroom; update this one, or remove the file");
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
  if (stated) return stated_spreads(test, *stated);
  const auto& environment = test.front().environment;
  // What the two sides tell alone is enough for an answer: a history that cannot be read does not cost it.
  try {
    const RunSpreads calibrated = environment ? calibrated_spreads(environment->fingerprint) : RunSpreads{};
    return merged(calibrated, historic_spreads(test, store));
  } catch (const Error& error) {
    say("what earlier runs tell is left out: {}", error.what());
    return {};
  }
}

}  // namespace headroom::cli
