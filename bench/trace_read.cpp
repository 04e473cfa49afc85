// SPDX-License-Identifier: Apache-2.0
// Prints the time to read a trace once, as `headroom trace summary` or by simdjson's on-demand parser (four
// fields of each event in windows of 8 MiB, for trace_speed.py).
//
//   bench_trace_read headroom [--needs summary|all|gpu] [--threads N] FILE
//   bench_trace_read simdjson FILE
#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/readers/read.h"

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

class Windows {
 public:
  explicit Windows(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("cannot open " + path);
    fill();
    constexpr std::string_view kList = "\"traceEvents\": [";
    const std::size_t list = text().find(kList);
    if (list == std::string_view::npos) throw std::runtime_error("no list of events at the start of " + path);
    clear_part(list + kList.size() - 1);
  }
  ~Windows() { ::close(file_); }
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  /// Valid until the next call; empty at the end.
  simdjson::padded_string_view next() {
    if (has_ended_) return {};
    clear_part(taken_);
    fill();
    const std::size_t list_end = text().rfind("\n  ]");
    const std::size_t between = text().rfind("\n  },\n  {");
    has_ended_ = size_ < kWindow;
    std::size_t comma = has_ended_ ? list_end : between;
    if (comma == std::string_view::npos) throw std::runtime_error("no end of an event within 8 MiB");
    comma += has_ended_ ? std::strlen("\n  ") : std::strlen("\n  }");
    bytes_[0] = '[';
    bytes_[comma] = ']';
    taken_ = comma;
    return simdjson::padded_string_view(bytes_.data(), comma + 1, bytes_.size());
  }

 private:
  static constexpr std::size_t kWindow = std::size_t{8} << 20;

  std::string_view text() const { return {bytes_.data(), size_}; }
  void clear_part(std::size_t count) {
    std::memmove(bytes_.data(), bytes_.data() + count, size_ - count);
    size_ -= count;
  }
  void fill() {
    while (size_ < kWindow) {
      const ssize_t got = ::read(file_, bytes_.data() + size_, kWindow - size_);
      if (got < 0) throw std::runtime_error("cannot read");
      if (got == 0) break;
      size_ += static_cast<std::size_t>(got);
    }
  }

  int file_;
  std::string bytes_ = std::string(kWindow + simdjson::SIMDJSON_PADDING, '\0');
  std::size_t size_ = 0, taken_ = 0;
  bool has_ended_ = false;
};

std::size_t extract(simdjson::ondemand::parser& parser, simdjson::padded_string_view list, double& sum) {
  auto document = parser.iterate(list);
  std::size_t events = 0;
  for (auto element : document.get_array()) {
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
  const Stopwatch whole;
  simdjson::ondemand::parser parser;
  Windows windows(path);
  double sum = 0;
  std::size_t events = 0;
  for (simdjson::padded_string_view list = windows.next(); list.size() != 0; list = windows.next())
    events += extract(parser, list, sum);
  fmt::print("events {} (check {:.0f})\n{}\n", events, sum, whole.shown("whole"));
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
  return trace::Needs::kLaunches | trace::Needs::kOpEvents | trace::Needs::kSyncs;
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
