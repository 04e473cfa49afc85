// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_causes.h"

#include <fmt/format.h>
#include <sys/personality.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/command/function_costs.h"
#include "headroom/compare/comparison.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCallgrind = "callgrind";
/// Half-width of the 95 % prediction interval of a third value, over the difference of two: Student's t,
/// 12.706 (one degree of freedom), times the square root of (1 + 1/2) / 2.
constexpr double kPredictionFactor = 11.0;
/// Interpreters' hashes are random otherwise, and so the counts.
constexpr const char* kFixedSeeds[] = {"PYTHONHASHSEED", "PERL_HASH_SEED"};
constexpr double kSampledSeconds = 0.25;  ///< some 1,200 samples
constexpr double kMaxSampledRounds = 20;
constexpr const char* kSampleRate = "4999";
constexpr char kSeparator = '\t';
constexpr std::size_t kMaxReportBytes = std::size_t{16} << 20U;

/// Switches off address randomisation for programs that this thread starts.
class FixedAddresses {
 public:
  FixedAddresses() : before_(::personality(kQuery)) {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_) | ADDR_NO_RANDOMIZE);
  }
  ~FixedAddresses() {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_));
  }
  FixedAddresses(const FixedAddresses&) = delete;
  FixedAddresses& operator=(const FixedAddresses&) = delete;

 private:
  static constexpr unsigned long kQuery = 0xffffffff;
  int before_;
};

PlannedCommand wrapped(PlannedCommand command, std::vector<std::string> words) {
  std::vector<std::string>& arguments = command.spec.arguments;
  words.insert(words.end(), arguments.begin(), arguments.end());
  arguments = std::move(words);
  command.spec.timeout = std::chrono::milliseconds(-1);
  return command;
}

std::vector<std::size_t> latencies_of(const std::vector<Record>& records) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].metric.name == "latency") places.push_back(i);
  }
  return places;
}

bool is_measured(const Record& record) {
  return record.outcome.kind == Outcome::Kind::kMeasured;
}

NumberMap numbers_of(const std::vector<FunctionDifference>& differences) {
  NumberMap numbers;
  for (const FunctionDifference& one : differences) numbers[one.function] = one.share;
  return numbers;
}

/// The rest of the first line with `key`.
std::string_view after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find('\n'));
}

PlannedCommand under_callgrind(PlannedCommand command, const fs::path& folder) {
  fs::create_directory(folder);
  for (const char* seed : kFixedSeeds) {
    if (std::getenv(seed) == nullptr) command.spec.environment.emplace_back(seed, "0");
  }
  // --dump-after: the child of a fork has a copy of its parent's counts.
  return wrapped(std::move(command),
                 {"valgrind", "-v", "--tool=callgrind", "--trace-children=yes", "--dump-line=no",
                  "--dump-after=fork", "--log-file=" + (folder / "log.%p").string(),
                  "--callgrind-out-file=" + (folder / "out.%p").string(), "--"});
}

struct CallgrindRun {
  FunctionCosts costs;
  std::string isa;
  std::string trouble;  ///< instead of costs
};

/// Parts of a process, in order: "out.4711.1", ..., "out.4711". Leaves out those before its exec, and those
/// that a fork copied from its parent.
std::vector<std::string> parts_of(const fs::path& folder, const std::string& process, bool is_started) {
  std::vector<std::string> parts;
  for (int part = 1; fs::exists(folder / fmt::format("out.{}.{}", process, part)); ++part)
    parts.push_back(read_file(folder / fmt::format("out.{}.{}", process, part)));
  parts.push_back(read_file_or_empty(folder / ("out." + process)));
  const std::string command(after(parts.back(), "\ncmd:"));
  std::erase_if(parts, [&](const std::string& part) { return after(part, "\ncmd:") != command; });
  if (!is_started && parts.size() > 1) parts.erase(parts.begin());
  return parts;
}

CallgrindRun read_callgrind(const fs::path& folder) {
  CallgrindRun run;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("log.")) continue;
    const std::string log = read_file(entry.path());
    if (contains(log, "unhandled instruction") || contains(log, "Unrecognised instruction"))
      run.trouble =
          "valgrind does not know one of its instructions (such as AVX-512); build it without -march=native";
    if (run.isa.empty()) run.isa = trimmed(after(log, "Arch and hwcaps:"));
    for (const std::string& part : parts_of(folder, name.substr(4), contains(log, "Scheduler:"))) {
      if (const auto costs = parse_callgrind(part)) run.costs.add(*costs);
    }
  }
  if (run.trouble.empty() && run.costs.total <= 0) run.trouble = "callgrind wrote no counts";
  return run;
}

Record count_record(const Record& latency, const std::vector<double>& counts, const std::string& isa) {
  Record record = latency;
  record.metric = {};
  record.metric.name = kInstructions;
  record.metric.unit = "1";
  record.metric.extra_info = {{kCountedBy, kCallgrind}, {kCountedIsa, isa}};
  record.samples.assign(1, ProcessSamples{});
  record.samples.front().iterations = 1;
  record.samples.front().values = counts;
  record.interval.reset();
  record.busy_cpus = 0;
  record.ratio.reset();
  record.look.reset();
  record.modes = {};
  record.notes.clear();
  record.stop = StopReason::kMaxSamples;
  estimate(record);
  return record;
}

std::vector<std::string> perf_record(const fs::path& file) {
  // --no-bpf-event saves a second per run.
  return {"perf", "record", "-q", "-N", "--no-bpf-event", "-F", kSampleRate, "-o", file.string(), "--"};
}

/// Why perf cannot sample, or nothing.
std::string perf_absence(const fs::path& folder) {
  if (!find_program("perf")) return "perf is not in PATH; install it (Debian: apt install linux-perf)";
  CommandSpec spec;
  spec.arguments = perf_record(folder / "probe.data");
  spec.arguments.insert(spec.arguments.end(), {"/bin/sh", "-c", ":"});
  const CommandResult result = run_command(spec);
  if (result.ok()) return "";
  // The first line is the reason, further ones are advice.
  const auto line = std::ranges::find_if(
      result.error_lines, [](const std::string& one) { return one != "Error:" && !trimmed(one).empty(); });
  return "perf cannot sample here: " + (line == result.error_lines.end() ? result.failure() : *line);
}

/// Adds a round's data. Returns the event, such as "cpu-clock:ppp".
std::string add_perf(const fs::path& file, FunctionCosts& costs) {
  CommandSpec spec;
  spec.arguments = {"perf",
                    "report",
                    "--stdio",
                    "-i",
                    file.string(),
                    "-F",
                    "period,sample,symbol",
                    "-t",
                    std::string(1, kSeparator)};
  spec.output = CommandSpec::Output::kCapture;
  spec.capture_bytes = kMaxReportBytes;
  const std::string report = run_command(spec).output;
  costs.add(parse_perf_report(report, kSeparator));
  const std::string_view event = after(report, "of event '");
  return std::string(event.substr(0, event.find('\'')));
}

std::uint32_t sampled_rounds(const std::vector<Record>& records, const Record& latency) {
  double seconds = 0;
  for (const char* metric : {"user_time", "system_time"}) {
    const Record* record = metric_of(records, latency, metric);
    if (record != nullptr) seconds += record->metric.value;
  }
  const double rounds = std::ceil(kSampledSeconds / std::max(seconds, 1e-6));
  return static_cast<std::uint32_t>(std::clamp(rounds, 1.0, kMaxSampledRounds));
}

}  // namespace

void count_by_callgrind(std::vector<Record>& records, const std::vector<PlannedCommand>& group,
                        const RunAgain& run) {
  const std::vector<std::size_t> places = latencies_of(records);
  const TemporaryFolder folder;
  std::vector<std::size_t> counted;  ///< command of each counted run
  std::vector<PlannedCommand> commands;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!is_measured(records[places[i]])) continue;
    for (int repeat = i == 0 ? 2 : 1; repeat > 0; --repeat) {
      commands.push_back(under_callgrind(group[i], folder.path() / std::to_string(commands.size())));
      counted.push_back(i);
    }
  }
  if (commands.empty()) return;
  GroupResult result;
  {
    const FixedAddresses fixed;
    result = run(std::move(commands), 1, [](const GroupResult&) {});
  }
  std::map<std::size_t, std::vector<double>> counts;
  std::map<std::size_t, CallgrindRun> runs;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const Track& track = result.cases[i];
    if (track.alive() && track.readings.empty()) continue;  // interrupted
    CallgrindRun one = read_callgrind(folder.path() / std::to_string(i));
    if (!track.alive() && one.trouble.empty()) one.trouble = track.outcome.reason;
    if (one.trouble.empty()) counts[counted[i]].push_back(one.costs.total);
    runs[counted[i]] = std::move(one);
  }
  std::vector<Record> all;
  std::size_t command = 0;
  for (std::size_t at = 0; at < records.size(); ++at) {
    if (records[at].metric.name != kInstructions) all.push_back(records[at]);
    const bool is_last =
        command + 1 == places.size() ? at + 1 == records.size() : at + 1 == places[command + 1];
    if (!is_last) continue;
    const auto found = runs.find(command);
    if (found != runs.end() && found->second.trouble.empty()) {
      all.push_back(count_record(records[places[command]], counts[command], found->second.isa));
      const auto first = runs.find(0);
      if (command > 0 && first != runs.end()) {
        all.back().metric.numbers =
            numbers_of(largest_differences(first->second.costs, found->second.costs, kLeastCountChange));
      }
    } else if (found != runs.end()) {
      const auto latency = std::ranges::find(all.rbegin(), all.rend(), "latency",
                                             [](const Record& record) { return record.metric.name; });
      latency->notes.emplace_back("instructions were not counted: " + found->second.trouble);
    }
    ++command;
  }
  records = std::move(all);
}

void sample_by_perf(std::vector<Record>& records, const std::vector<PlannedCommand>& group,
                    std::span<const std::size_t> others, const RunAgain& run) {
  const std::vector<std::size_t> places = latencies_of(records);
  const TemporaryFolder folder;
  if (const std::string absence = perf_absence(folder.path()); !absence.empty()) {
    for (const std::size_t other : others)
      records[places[other]].notes.emplace_back("no reason by function: " + absence);
    return;
  }
  std::vector<PlannedCommand> commands;
  const auto file = [&](std::size_t i) { return folder.path() / fmt::format("{}.data", i); };
  const auto add = [&](std::size_t command) {
    commands.push_back(wrapped(group[command], perf_record(file(commands.size()))));
  };
  add(0);
  for (const std::size_t other : others) add(other);
  std::vector<FunctionCosts> costs(commands.size());
  std::string event;
  const std::size_t count = commands.size();
  const auto read_round = [&](const GroupResult& so_far) {
    for (std::size_t i = 0; i < count; ++i) {
      if (so_far.cases[i].alive()) event = add_perf(file(i), costs[i]);
    }
  };
  const GroupResult result =
      run(std::move(commands), sampled_rounds(records, records[places[0]]), read_round);
  for (std::size_t i = 0; i < others.size(); ++i) {
    Record& latency = records[places[others[i]]];
    const Track& baseline = result.cases[0];
    const Track& test = result.cases[i + 1];
    if (!baseline.alive() || !test.alive()) {
      latency.notes.emplace_back("no reason by function: perf cannot record it: " +
                                 (baseline.alive() ? test : baseline).outcome.reason);
    } else if (costs[0].samples == 0 || costs[i + 1].samples == 0) {
      latency.notes.emplace_back("no reason by function: perf took no samples");
    } else {
      latency.metric.extra_info[kSampledBy] =
          fmt::format("perf, {}, {} and {} samples", event, costs[0].samples, costs[i + 1].samples);
      latency.metric.numbers = numbers_of(largest_differences(costs[0], costs[i + 1], 0));
    }
  }
}

const Record* metric_of(std::span<const Record> records, const Record& latency, std::string_view metric) {
  for (std::size_t i = static_cast<std::size_t>(&latency - records.data()) + 1;
       i < records.size() && records[i].metric.name != latency.metric.name; ++i) {
    if (records[i].metric.name == metric) return &records[i];
  }
  return nullptr;
}

std::optional<RatioEstimate> count_ratio(const Record& baseline, const Record& test) {
  const StringMap &before = baseline.metric.extra_info, &after = test.metric.extra_info;
  if (before != after || baseline.metric.value <= 0) return std::nullopt;
  if (!before.contains(kCountedBy)) return compare_records(baseline, test).ratio;
  const auto [least, most] = std::ranges::minmax(baseline.samples.front().values);
  const double ratio = test.metric.value / baseline.metric.value;
  const double noise = kPredictionFactor * (most - least) / baseline.metric.value;
  return RatioEstimate{ratio, Interval{ratio - noise, ratio + noise}, 1};
}

std::vector<std::optional<GateOutcome>> count_outcomes(std::span<const Record> records,
                                                       std::span<const RoundComparison> judged,
                                                       double margin) {
  std::vector<std::optional<GateOutcome>> outcomes;
  for (const RoundComparison& one : judged) {
    const Record* before = metric_of(records, *one.comparison.baseline, kInstructions);
    const Record* after = metric_of(records, *one.comparison.test, kInstructions);
    const auto ratio = before && after ? count_ratio(*before, *after) : std::nullopt;
    auto& outcome = outcomes.emplace_back();
    if (!ratio) continue;
    outcome = GateOutcome::kOpen;
    if (!ratio->interval) continue;
    if (ratio->interval->low > 1 + margin) outcome = GateOutcome::kRegressed;
    if (ratio->interval->high <= 1 + margin) outcome = GateOutcome::kPassed;
  }
  return outcomes;
}

}  // namespace headroom
