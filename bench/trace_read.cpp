// SPDX-License-Identifier: Apache-2.0
// Reads a trace once with the needs of `headroom trace summary`, or has simdjson's on-demand parser extract
// four fields from the same bytes, and prints what it took. trace_speed.py runs both in turn.
//
//   bench_trace_read headroom [--needs summary|all|gpu] [--threads N] FILE
//   bench_trace_read simdjson FILE
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/readers/read.h"

namespace {

namespace trace = headroom::trace;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Stopwatch {
  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  std::string shown(const char* what) const {
    return fmt::format("{} wall_s {:.4f} cpu_s {:.4f}", what, seconds(CLOCK_MONOTONIC) - wall,
                       seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  }
};

/// The phase, category, start and duration of every event; returns how many there are.
std::size_t extract(const simdjson::padded_string& text, double& sum) {
  simdjson::ondemand::parser parser;
  auto document = parser.iterate(text);
  std::size_t events = 0;
  for (auto element : document["traceEvents"].get_array()) {
    simdjson::ondemand::object event = element.get_object();
    std::string_view phase, category;
    if (event["ph"].get_string().get(phase) != simdjson::SUCCESS) continue;
    ++events;
    if (event["cat"].get_string().get(category) == simdjson::SUCCESS)
      sum += static_cast<double>(category.size());
    double number = 0;
    if (event["ts"].get_double().get(number) == simdjson::SUCCESS) sum += number;
    if (phase == "X" && event["dur"].get_double().get(number) == simdjson::SUCCESS) sum += number;
  }
  return events;
}

void run_simdjson(const std::string& path) {
  const Stopwatch load;
  const simdjson::padded_string text = simdjson::padded_string::load(path).value();
  fmt::print("{}\n", load.shown("load"));
  const Stopwatch parse;
  double sum = 0;
  const std::size_t events = extract(text, sum);
  fmt::print("{}\nevents {} (check {:.0f})\n", parse.shown("parse"), events, sum);
  fmt::print("{}\n", load.shown("whole"));
}

void run_headroom(const std::string& path, const trace::ReadOptions& options) {
  const Stopwatch whole;
  const trace::Trace read = trace::read(path, options);
  fmt::print("{}\n", whole.shown("whole"));
  fmt::print("events {} kept {} gpu {} problems {}\n", read.events_seen, read.events.size(), read.gpu.size(),
             read.problems.count);
}

trace::Needs needs_of(std::string_view name) {
  if (name == "all") return trace::Needs::kAll;
  if (name == "gpu") return trace::Needs::kGpuWork;
  return trace::Needs::kLaunches | trace::Needs::kOps;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  trace::ReadOptions options;
  options.needs = needs_of("summary");
  std::string path;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--needs" && i + 1 < arguments.size()) {
      options.needs = needs_of(arguments[++i]);
    } else if (arguments[i] == "--threads" && i + 1 < arguments.size()) {
      options.threads = std::atoi(arguments[++i].c_str());
    } else {
      path = arguments[i];
    }
  }
  if (path.empty()) {
    fmt::print(stderr,
               "usage: bench_trace_read headroom|simdjson [--needs summary|all|gpu] [--threads N] FILE\n");
    return 2;
  }
  try {
    if (arguments.front() == "simdjson") {
      run_simdjson(path);
    } else {
      run_headroom(path, options);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak_mib {:.1f}\n", static_cast<double>(usage.ru_maxrss) / 1024);
}
