// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cpu_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

/// The ticks of a line "cpu3 1 2 3 ..."; proc(5): user nice system idle iowait irq softirq steal.
std::optional<CpuTicks> ticks_of_line(std::string_view numbers) {
  constexpr std::size_t kIdle = 3, kWaiting = 4, kSteal = 7;
  std::array<std::uint64_t, 8> fields{};
  for (std::uint64_t& field : fields) {
    numbers.remove_prefix(std::min(numbers.find_first_not_of(' '), numbers.size()));
    const auto [end, error] = std::from_chars(numbers.data(), numbers.data() + numbers.size(), field);
    if (error != std::errc()) return std::nullopt;
    numbers.remove_prefix(static_cast<std::size_t>(end - numbers.data()));
  }
  CpuTicks ticks{fields[kIdle] + fields[kWaiting], fields[kSteal], 0};
  for (const std::uint64_t field : fields) ticks.total += field;
  return ticks;
}

/// Counters of the kernel may step back.
double ticks_between(std::uint64_t before, std::uint64_t after) {
  return after > before ? static_cast<double>(after - before) : 0;
}

}  // namespace

std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat, std::span<const int> cpus) {
  CpuTicks sum;
  for (const int cpu : cpus) {
    const std::string start = fmt::format("\ncpu{} ", cpu);
    const std::size_t at = proc_stat.find(start);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = proc_stat.substr(at + start.size());
    const auto ticks = ticks_of_line(rest.substr(0, rest.find('\n')));
    if (!ticks) return std::nullopt;
    sum.idle += ticks->idle;
    sum.stolen += ticks->stolen;
    sum.total += ticks->total;
  }
  return sum;
}

std::optional<std::uint64_t> pressure_us(std::string_view proc_pressure_cpu) {
  constexpr std::string_view kTotal = "total=";
  const std::string_view line = proc_pressure_cpu.substr(0, proc_pressure_cpu.find('\n'));
  const std::size_t at = line.find(kTotal);
  if (!line.starts_with("some ") || at == std::string_view::npos) return std::nullopt;
  std::uint64_t total = 0;
  const std::string_view number = line.substr(at + kTotal.size());
  if (std::from_chars(number.data(), number.data() + number.size(), total).ec != std::errc())
    return std::nullopt;
  return total;
}

CpuLoad measure_cpu_load(std::span<const int> cpus, const std::function<double()>& pause,
                         const std::filesystem::path& proc) {
  const auto ticks_now = [&] { return cpu_ticks(text_of_file(proc / "stat"), cpus); };
  const auto pressure_now = [&] { return pressure_us(text_of_file(proc / "pressure/cpu")); };
  const auto ticks_before = ticks_now();
  const auto pressure_before = pressure_now();
  const double seconds = pause();
  const auto ticks = ticks_now();
  const auto pressure = pressure_now();
  CpuLoad load;
  if (ticks_before && ticks) {
    const double total = ticks_between(ticks_before->total, ticks->total);
    const auto count = static_cast<double>(cpus.size());
    if (total > 0) {
      load.cpus = static_cast<int>(cpus.size());
      load.busy = count * std::clamp(1 - ticks_between(ticks_before->idle, ticks->idle) / total, 0.0, 1.0);
      load.stolen = count * std::min(1.0, ticks_between(ticks_before->stolen, ticks->stolen) / total);
    }
  }
  if (pressure_before && pressure && seconds > 0) {
    load.waited = std::min(1.0, ticks_between(*pressure_before, *pressure) / (1e6 * seconds));
  }
  return load;
}

std::optional<LoadWarning> load_warning(const CpuLoad& load, int threads, std::string_view when) {
  // What a quiet machine does by itself, and what a reading over a tenth of a second can tell at all.
  constexpr double kAlwaysBusy = 0.35;
  if (load.cpus == 0) return std::nullopt;
  const double wanted = std::min(std::max(1, threads), load.cpus);
  const double free = load.cpus - load.busy;
  const bool has_room = load.busy < kAlwaysBusy || free - load.own >= kAlwaysBusy;
  if (free >= wanted - kAlwaysBusy && has_room) return std::nullopt;
  LoadWarning warning;
  warning.busy_cpus = load.busy;
  warning.what = fmt::format("busy: {:.1f} of {} CPUs were at work for other programs {} measuring",
                             load.busy, load.cpus, when);
  if (load.stolen >= kAlwaysBusy) {
    warning.what += fmt::format(", {:.1f} of them taken by the hypervisor", load.stolen);
  } else if (load.waited >= kAlwaysBusy) {
    warning.what += fmt::format(", and tasks waited for one {:.0f} % of the time", 100 * load.waited);
  }
  const int fitting = static_cast<int>(std::floor(free + kAlwaysBusy));
  warning.advice = "times will be too long and uncertain: stop the other programs (top shows them) or wait";
  if (fitting >= 1) warning.advice += fmt::format(", or measure with --threads {}", fitting);
  return warning;
}

}  // namespace headroom
