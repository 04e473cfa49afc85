// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"

namespace headroom {
namespace {

/// "BenchmarkFib-8   5000000   325 ns/op   0 B/op". Lines of logs and of benchmarks under way lack the
/// number.
bool is_go_result(const Fields& fields) {
  return fields.size() >= 2 && fields[0].starts_with("Benchmark") && to_integer(fields[1]);
}

/// Metric of a unit such as "ns/op", "MB/s", "allocs/op", or one of b.ReportMetric().
struct GoMetric {
  std::string name, unit;
  Direction direction = Direction::kLowerIsBetter;
};

GoMetric go_metric(const std::string& unit) {
  if (unit == "ns/op") return {"latency", "ns"};
  if (unit == "B/op") return {unit, "B"};
  if (unit == "MB/s") return {unit, unit, Direction::kHigherIsBetter};
  return {unit, "", guessed_direction(unit, "")};
}

/// Lines of one name are repetitions (-count).
struct GoBenchmark {
  std::string package, name;
  std::shared_ptr<const Environment> environment;
  std::uint64_t iterations = 0;
  std::vector<std::pair<std::string, std::vector<double>>> values;  ///< by unit
  Outcome outcome;

  std::vector<double>& of_unit(std::string_view unit) {
    const auto found = std::ranges::find(values, unit, [](const auto& entry) { return entry.first; });
    return found == values.end() ? values.emplace_back(unit, std::vector<double>()).second : found->second;
  }
};

void add_go_values(const Fields& fields, const std::string& where, GoBenchmark& benchmark) {
  if (fields.size() < 4 || fields.size() % 2 != 0)
    throw Error(where + ": expected pairs of a number and a unit after the iterations; the line is cut off");
  benchmark.iterations = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *to_integer(fields[1])));
  for (std::size_t i = 2; i < fields.size(); i += 2) {
    const std::optional<double> value = to_number(fields[i]);
    if (!value) throw Error(fmt::format("{}: expected a number, found {}", where, quote(fields[i])));
    benchmark.of_unit(fields[i + 1])
        .push_back(fields[i + 1] == "ns/op" ? require_time(*value, where) : *value);
  }
}

std::vector<GoBenchmark> read_go_benchmarks(std::string_view text, const std::string& source) {
  std::vector<GoBenchmark> benchmarks;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  StringMap settings;  // "goos: linux"
  std::shared_ptr<const Environment> environment = imported_environment({});
  const auto benchmark_of = [&](std::string_view name) -> GoBenchmark& {
    const auto [at, is_new] = index.try_emplace({settings["pkg"], std::string(name)}, benchmarks.size());
    if (is_new) {
      GoBenchmark& made = benchmarks.emplace_back();
      made.package = settings["pkg"];
      made.name = name;
      made.environment = environment;
    }
    return benchmarks[at->second];
  };
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const Fields fields = fields_of(line);
    for (const std::string_view key : {"goos", "goarch", "pkg", "cpu"}) {
      if (!line.starts_with(key) || !line.substr(key.size()).starts_with(": ")) continue;
      settings[std::string(key)] = trimmed(line.substr(key.size() + 2));
      Environment::Runner machine;
      machine.type = settings["goarch"];
      machine.cpu_info = settings["cpu"];
      auto made = imported_environment(machine);
      made->extra_info["goos"] = settings["goos"];
      environment = made;
    }
    if (is_go_result(fields)) {
      add_go_values(fields, fmt::format("{}: line {}", source, number), benchmark_of(fields[0]));
    } else if (fields.size() >= 3 && fields[0] == "---" && fields[2].starts_with("Benchmark")) {
      if (fields[1] == "FAIL:")
        benchmark_of(fields[2]).outcome = {Outcome::Kind::kFailed, "the benchmark failed"};
      if (fields[1] == "SKIP:")
        benchmark_of(fields[2]).outcome = {Outcome::Kind::kSkipped, "the benchmark skipped itself"};
    }
  }
  return benchmarks;
}

void add_go_records(GoBenchmark& benchmark, std::vector<Record>& records) {
  if (benchmark.values.empty()) benchmark.of_unit("ns/op");
  for (auto& [unit, values] : benchmark.values) {
    const GoMetric metric = go_metric(unit);
    Record record = tool_record("Go testing", benchmark.name, metric.name, metric.unit, metric.direction);
    record.metric.headline = &values == &benchmark.values.front().second;
    record.device = "cpu";
    record.environment = benchmark.environment;
    if (!benchmark.package.empty())
      record.axes.emplace_back("pkg", AxisValue(benchmark.package, AxisType::kText));
    if (!values.empty()) set_samples(record, std::move(values), benchmark.iterations);
    if (record.samples.empty()) record.outcome = benchmark.outcome;
    records.push_back(std::move(record));
  }
}

bool is_go_testing(const FileOutline& outline) {
  constexpr std::size_t kHead = std::size_t{1} << 20;
  return outline.is_text() && std::ranges::any_of(lines_of(outline.text().substr(0, kHead)), [](auto line) {
           return line.starts_with("Benchmark") && is_go_result(fields_of(line));
         });
}

std::vector<Record> read_go_testing(const PaddedText& text, const std::string& source) {
  std::vector<Record> records;
  for (GoBenchmark& benchmark : read_go_benchmarks(text.view(), source)) add_go_records(benchmark, records);
  if (records.empty()) throw Error(source + ": has no line of a benchmark; run go test with -bench");
  return records;
}

}  // namespace

/// Output of `go test -bench` (read). Repetitions (-count) are samples.
Format go_testing_format() {
  return {.name = "go-testing",
          .summary = "text of go test -bench",
          .recognises = is_go_testing,
          .read = read_go_testing};
}

}  // namespace headroom
