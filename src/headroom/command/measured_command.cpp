// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/measured_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/regular_expression.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/files/csv.h"

namespace headroom {
namespace {

constexpr std::int64_t kBytesPerKib = 1024;
constexpr std::size_t kShownErrorLines = 3;

Descriptor open_for(const std::filesystem::path& path, int flags, const char* what) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.is_open()) return file;
  throw Error(fmt::format("cannot open {} as the command's standard {}: {}", quote(path.string()), what,
                          std::strerror(errno)));
}

double nanoseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
}

std::int64_t own_peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kBytesPerKib;
}

void take_usage(const rusage& usage, CommandResult& result) {
  result.user_ns = nanoseconds(usage.ru_utime);
  result.system_ns = nanoseconds(usage.ru_stime);
  result.peak_rss_bytes = usage.ru_maxrss * kBytesPerKib;
  result.minor_faults = usage.ru_minflt;
  result.major_faults = usage.ru_majflt;
  result.voluntary_switches = usage.ru_nvcsw;
  result.involuntary_switches = usage.ru_nivcsw;
}

/// INT first, as from Ctrl-C, so that the command can clean up.
ExitStatus interrupt(Child& child, std::chrono::milliseconds grace) {
  child.signal_group(SIGINT);
  if (const auto status = child.wait(grace)) return *status;
  return child.terminate(grace);
}

ExitStatus wait_for_end(Child& child, const CommandSpec& spec, const std::function<bool()>& is_interrupted,
                        CommandResult& result) {
  if (const auto status = child.wait(spec.timeout, is_interrupted)) return *status;
  result.interrupted = is_interrupted && is_interrupted();
  if (result.interrupted) return interrupt(child, spec.grace);
  result.timed_out = true;
  return child.terminate(spec.grace);
}

namespace fs = std::filesystem;

constexpr const char* kVariable = "HEADROOM_COMMAND";
constexpr std::size_t kShown = 5;

bool is_number(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

bool has(const std::string& environment, const std::string& assignment) {
  return ('\0' + environment).find('\0' + assignment + '\0') != std::string::npos;
}

using From = MetricSource::From;

constexpr double kBytesPerMib = 1 << 20;

double number_of(std::string_view text, const std::string& what) {
  const std::optional<double> value = to_number(trimmed(text));
  if (!value) throw Error(fmt::format("{} is not a number: {}", what, quote(text)));
  return *value;
}

double from_csv(const MetricSource& source, const MetricDocument& document) {
  std::vector<CsvRow> rows = parse_csv(document.text, document.name);
  std::erase_if(
      rows, [](const CsvRow& row) { return row.empty() || (row.size() == 1 && trimmed(row[0]).empty()); });
  if (rows.empty()) throw Error(document.name + " is empty; expected a CSV with a header line");
  std::vector<std::string> names;
  for (const std::string& name : rows.front()) names.emplace_back(trimmed(name));
  const auto column = std::ranges::find(names, source.key);
  if (column == names.end()) {
    throw Error(fmt::format("{} has no column {}{}; it has {}", document.name, quote(source.key),
                            did_you_mean(source.key, names), join(names, ", ")));
  }
  if (rows.size() != 2) {
    throw Error(fmt::format("{} has {} rows of values; expected one", document.name, rows.size() - 1));
  }
  const auto index = static_cast<std::size_t>(column - names.begin());
  if (index >= rows[1].size()) {
    throw Error(
        fmt::format("{}: the row of values ends before the column {}", document.name, quote(source.key)));
  }
  return number_of(rows[1][index], fmt::format("{}: the column {}", document.name, quote(source.key)));
}

double from_json(const MetricSource& source, const MetricDocument& document) {
  const Json json = parse_json(document.text, document.name);
  const Json* value = json_at(json, source.key);
  if (value == nullptr) {
    throw Error(fmt::format("{} has no value at {}", document.name, quote(source.key)));
  }
  if (!value->is_number()) {
    throw Error(fmt::format("{}: expected a number at {}, found {}", document.name, quote(source.key),
                            quote(dump_json(*value))));
  }
  return value->get<double>();
}

double from_output(const MetricSource& source, const CommandResult& result, const MetricDocument& document) {
  const RegularExpression expression(source.key);
  std::optional<std::string> found;
  const auto look = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      if (auto text = expression.find(line)) found = std::move(text);
    }
  };
  look(split(document.text, '\n'));
  if (!found) look(result.error_lines);
  if (!found) {
    throw Error(fmt::format("no match in {} or the last lines of standard error for {}{}", document.name,
                            quote(source.key),
                            document.is_cut ? "; only the start of the output was kept" : ""));
  }
  return number_of(*found, "the match of " + quote(source.key));
}

double value_of(const MetricSource& source, const CommandResult& result, const MetricDocument& document) {
  switch (source.from) {
    case From::kWall:
      return result.wall_ns / kNsPerSecond;
    case From::kCpu:
      return (result.user_ns + result.system_ns) / kNsPerSecond;
    case From::kPeakRss:
      return static_cast<double>(result.peak_rss_bytes) / kBytesPerMib;
    case From::kCsv:
      return from_csv(source, document);
    case From::kJson:
      return from_json(source, document);
    case From::kOutput:
      break;
  }
  return from_output(source, result, document);
}

}  // namespace

std::vector<std::string> shell_arguments(const std::string& line, std::vector<std::string> shell) {
  shell.insert(shell.end(), {"-c", line});
  return shell;
}

std::string CommandResult::failure() const {
  if (ok()) return "";
  std::string text = interrupted ? "interrupted" : timed_out ? "timed out" : status.text();
  const std::size_t shown = std::min(kShownErrorLines, error_lines.size());
  if (shown == 0) return text;
  return text + ": " +
         join({error_lines.end() - static_cast<std::ptrdiff_t>(shown), error_lines.end()}, " / ");
}

CommandResult run_command(const CommandSpec& spec, const std::function<bool()>& is_interrupted) {
  SpawnOptions options{spec.arguments, spec.environment, {}, spec.folder.string()};
  Descriptor input, output;
  if (!spec.input.empty()) input = open_for(spec.input, O_RDONLY, "input");
  if (spec.output == CommandSpec::Output::kDiscard) output = open_for("/dev/null", O_WRONLY, "output");
  if (spec.output == CommandSpec::Output::kFile) {
    output = open_for(resolve_output_path(spec.output_file), O_WRONLY | O_CREAT | O_TRUNC, "output");
  }
  options.standard_input = input.get();
  options.standard_output = output.get();
  if (spec.output == CommandSpec::Output::kCapture) options.capture_bytes = spec.capture_bytes;

  CommandResult result;
  result.peak_rss_floor_bytes = own_peak_rss_bytes();
  Child child(options);
  result.status = wait_for_end(child, spec, is_interrupted, result);
  result.wall_ns = std::chrono::duration<double, std::nano>(child.ended() - child.started()).count();
  take_usage(result.status.usage, result);
  result.output = child.captured_output();
  result.output_cut = child.stdout_lines().total_bytes() > result.output.size();
  result.error_lines = child.stderr_lines().lines();
  return result;
}

std::span<const CounterEvent> hardware_events() {
  static constexpr std::array<CounterEvent, 4> kEvents{{
      {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
      {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
      {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
  }};
  return kEvents;
}

ChildCounters::ChildCounters(std::span<const CounterEvent> events)
    : events_(countable_events(linux_counters(), events)), counters_(events.size()) {}

bool ChildCounters::counts(std::string_view event) const {
  for (std::size_t i = 0; i < events_.events.size(); ++i) {
    if (events_.events[i].name == event) return events_.available[i];
  }
  return false;
}

void ChildCounters::start() {
  // A parent's events may move to its child and end with it.
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    CounterRequest request = events_.request(i);
    request.from_exec = true;
    if (events_.available[i]) counters_[i] = Descriptor(std::max(-1, linux_counters().open(request)));
  }
}

std::vector<std::optional<double>> ChildCounters::stop() {
  std::vector<std::optional<double>> counts;
  for (Descriptor& counter : counters_) {
    const auto reading = linux_counters().read(counter.get());
    counter.reset();
    counts.push_back(reading ? reading->whole() : std::nullopt);
  }
  return counts;
}

LeftRunning::LeftRunning()
    : session_(
          fmt::format("{}-{}", ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count())) {}

std::pair<std::string, std::string> LeftRunning::mark(std::size_t command) const {
  return {kVariable, fmt::format("{}-{}", session_, command)};
}

std::string LeftRunning::note(std::size_t command) const {
  const auto [name, value] = mark(command);
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& process = entry->path();
    // Zombies have an empty environment.
    if (!is_number(process.filename()) || !has(read_file_or_empty(process / "environ"), name + "=" + value))
      continue;
    found.push_back(
        fmt::format("{} (process {})", read_file_value(process / "comm"), process.filename().string()));
  }
  if (found.empty()) return "";
  const std::size_t more = found.size() - std::min(found.size(), kShown);
  found.resize(found.size() - more);
  return "left running: " + join(found, ", ") + (more > 0 ? fmt::format(", {} more", more) : "");
}

MetricSource parse_metric(std::string_view text) {
  if (text == "wall") return {From::kWall, "", "wall time", "s"};
  if (text == "cpu") return {From::kCpu, "", "CPU time", "s"};
  if (text == "rss") return {From::kPeakRss, "", "peak RSS", "MiB"};
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string key(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (!key.empty()) {
    if (kind == "csv") return {From::kCsv, key, key, ""};
    if (kind == "json") return {From::kJson, key, key.substr(key.find_last_of('/') + 1), ""};
    if (kind == "output") return {From::kOutput, key, "output", ""};
  }
  throw Error("unknown metric " + quote(text) +
              "; expected wall, cpu, rss, csv:COLUMN, json:/POINTER or output:EXPRESSION");
}

void check_metric(const MetricSource& source) {
  if (source.needs_document() && source.key.empty())
    throw Error("the metric names no column, pointer or expression");
  if (source.from == From::kOutput) {
    const RegularExpression expression(source.key);
    if (expression.groups() > 1) {
      throw Error(quote(source.key) + " has several groups; expected one, around the number");
    }
  }
  if (source.from != From::kJson) return;
  json_at(Json(), source.key);  // throws for an invalid pointer
}

double read_metric(const MetricSource& source, const CommandResult& result, const MetricDocument& document) {
  const double value = value_of(source, result, document);
  if (std::isfinite(value) && value >= 0) return value;
  throw Error(fmt::format("{} is {}; expected a finite number of at least 0", source.name, value));
}

}  // namespace headroom
