// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/progress.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "headroom/base/units.h"
#include "headroom/console/output.h"
#include "headroom/machine/memory.h"
#include "headroom/process/affinity.h"

namespace headroom::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};

std::string state_text(const Progress& progress) {
  std::string text;
  if (progress.processes > 1)
    text += fmt::format("  process {}/{}", progress.process + 1, progress.processes);
  if (progress.phase != "sampling") return text + "  " + progress.phase;
  text += fmt::format("  round {}  {}", progress.rounds, format_time_ns(progress.median_ns));
  if (progress.worst_half_width) {
    text += fmt::format(" ±{} (goal {})", format_percent(*progress.worst_half_width),
                        format_percent(progress.goal));
  }
  return text +
         fmt::format("  {:.1f} of at most {:.0f} s", progress.elapsed_ns / 1e9, progress.max_time_ns / 1e9);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double sleep_a_tenth_of_a_second() {
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return seconds_since(start);
}

double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Includes waited-for children.
double own_cpu_seconds() {
  return cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
}

}  // namespace

TerminalProgress::TerminalProgress(std::function<void(const std::vector<Record>&)> on_records,
                                   std::function<void(const GroupResult&)> on_round)
    : on_records_(std::move(on_records)), on_round_(std::move(on_round)) {}

void TerminalProgress::progress(const Progress& progress) {
  if (!line_.is_shown()) {
    title_ = progress.title;
    group_ = progress.group;
    groups_ = progress.groups;
    elapsed_ns_ = progress.elapsed_ns;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kRedraw) return;
  last_ = now;
  line_.draw(fmt::format("[{}/{}] ", progress.group + 1, progress.groups), progress.title,
             state_text(progress));
}

void TerminalProgress::finished(const std::vector<Record>& records) {
  line_.clear();
  if (groups_ > 1) print_message("[{}/{}] {}: {:.1f} s", group_ + 1, groups_, title_, elapsed_ns_ / 1e9);
  on_records_(records);
}

std::optional<LoadWarning> warn_when_busy(int threads) {
  auto warning = load_warning(measure_cpu_load(allowed_cpus(), sleep_a_tenth_of_a_second), threads);
  if (warning) print_message("{}; {}", sentence(warning->note), warning->advice);
  return warning;
}

void note_busy(std::vector<Record>& records, const std::optional<LoadWarning>& warning) {
  if (!warning) return;
  for (Record& record : records) {
    record.busy_cpus = warning->busy_cpus;
    record.notes.push_back(warning->note);
  }
}

std::optional<LoadWarning> load_beside(const std::function<void()>& measure) {
  // Longer than the kernel's ticks of up to 10 ms.
  constexpr double kLeastSeconds = 0.2;
  double seconds = 0, own = 0;
  CpuLoad load = measure_cpu_load(allowed_cpus(), [&] {
    const double own_before = own_cpu_seconds();
    const auto start = Clock::now();
    measure();
    own = own_cpu_seconds() - own_before;
    std::this_thread::sleep_until(
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kLeastSeconds)));
    return seconds = seconds_since(start);
  });
  load.own = std::min(load.busy, own / seconds);
  load.busy -= load.own;
  load.waited = 0;  // the measured program waits for itself too
  return load_warning(load, 1, "while");
}

QuotaWatch::QuotaWatch() : throttled_s_(cgroup_throttled_s("/")), since_(Clock::now()) {}

void QuotaWatch::note(std::vector<Record>& records) {
  constexpr double kMatters = 0.01;
  const auto before = std::exchange(throttled_s_, cgroup_throttled_s("/"));
  const double seconds = seconds_since(std::exchange(since_, Clock::now()));
  const double held = before && throttled_s_ ? *throttled_s_ - *before : 0;
  if (held <= kMatters * seconds) return;
  for (Record& record : records) record.notes.push_back({NoteKind::kQuota, {held, seconds}});
}

}  // namespace headroom::cli
