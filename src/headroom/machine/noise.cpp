// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/noise.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "headroom/base/text.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

std::string cpufreq_path(const char* name) {
  const std::vector<int> cpus = allowed_cpus();
  const int cpu = cpus.empty() ? 0 : cpus.front();
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/" + name;
}

/// Rereads the start of an open file without allocating.
template <std::size_t size>
std::string_view reread(const Descriptor& file, std::array<char, size>& buffer) {
  const ssize_t got = file.is_open() ? ::pread(file.get(), buffer.data(), buffer.size(), 0) : 0;
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

/// 0 if the counter stepped back (steal does when a virtual machine migrates).
double increase(std::uint64_t before, std::uint64_t after) {
  return after > before ? static_cast<double>(after - before) : 0;
}

std::uint32_t saturated(double value) {
  return static_cast<std::uint32_t>(std::min<double>(value, std::numeric_limits<std::uint32_t>::max()));
}

/// proc(5): user nice system idle iowait irq softirq steal.
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

}  // namespace

std::optional<std::uint64_t> steal_ticks(std::string_view proc_stat) {
  constexpr int kStealField = 8;  // proc(5), as in ticks_of_line
  if (!proc_stat.starts_with("cpu ")) return std::nullopt;
  std::string_view line = proc_stat.substr(3, proc_stat.find('\n') - 3);
  std::uint64_t value = 0;
  for (int field = 0; field < kStealField; ++field) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc()) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  }
  return value;
}

NoiseMeter::NoiseMeter()
    : stat_file_(::open("/proc/stat", O_RDONLY | O_CLOEXEC)),
      frequency_file_(::open(cpufreq_path("scaling_cur_freq").c_str(), O_RDONLY | O_CLOEXEC)) {
  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  if (ticks_per_second > 0) ms_per_tick_ = 1000.0 / static_cast<double>(ticks_per_second);
  start();
}

NoiseMeter::Reading NoiseMeter::read() const {
  Reading reading;
  std::array<char, 256> text;
  reading.steal_ticks = steal_ticks(reread(stat_file_, text)).value_or(0);
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    reading.involuntary = static_cast<std::uint64_t>(usage.ru_nivcsw);
    reading.faults =
        static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
  }
  return reading;
}

void NoiseMeter::start() {
  start_ = read();
}

SampleNoise NoiseMeter::stop() {
  const Reading now = read();
  SampleNoise noise;
  noise.steal_ms = increase(start_.steal_ticks, now.steal_ticks) * ms_per_tick_;
  noise.involuntary_switches = saturated(increase(start_.involuntary, now.involuntary));
  noise.page_faults = saturated(increase(start_.faults, now.faults));
  std::array<char, 32> text;
  const auto kilohertz = to_number(trimmed(reread(frequency_file_, text)));
  noise.frequency_mhz = kilohertz.value_or(0) / 1000;
  return noise;
}

std::string cpu_governor() {
  return read_file_value(cpufreq_path("scaling_governor"));
}

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
  const auto ticks_now = [&] { return cpu_ticks(read_file_or_empty(proc / "stat"), cpus); };
  const auto pressure_now = [&] { return pressure_us(read_file_or_empty(proc / "pressure/cpu")); };
  const auto ticks_before = ticks_now();
  const auto pressure_before = pressure_now();
  const double seconds = pause();
  const auto ticks = ticks_now();
  const auto pressure = pressure_now();
  CpuLoad load;
  if (ticks_before && ticks) {
    const double total = increase(ticks_before->total, ticks->total);
    const auto count = static_cast<double>(cpus.size());
    if (total > 0) {
      load.cpus = static_cast<int>(cpus.size());
      load.busy = count * std::clamp(1 - increase(ticks_before->idle, ticks->idle) / total, 0.0, 1.0);
      load.stolen = count * std::min(1.0, increase(ticks_before->stolen, ticks->stolen) / total);
    }
  }
  if (pressure_before && pressure && seconds > 0) {
    load.waited = std::min(1.0, increase(*pressure_before, *pressure) / (1e6 * seconds));
  }
  return load;
}

std::optional<LoadWarning> load_warning(const CpuLoad& load, int threads, std::string_view when) {
  // Background load of a quiet machine, plus the resolution over 0.1 s.
  constexpr double kAlwaysBusy = 0.35;
  if (load.cpus == 0) return std::nullopt;
  const double wanted = std::min(std::max(1, threads), load.cpus);
  const double free = load.cpus - load.busy;
  const bool has_room = load.busy < kAlwaysBusy || free - load.own >= kAlwaysBusy;
  if (free >= wanted - kAlwaysBusy && has_room) return std::nullopt;
  LoadWarning warning;
  warning.busy_cpus = load.busy;
  std::string text = fmt::format("{} measuring", when);
  if (load.stolen >= kAlwaysBusy) {
    text += fmt::format(", {:.1f} of them taken by the hypervisor", load.stolen);
  } else if (load.waited >= kAlwaysBusy) {
    text += fmt::format(", and tasks waited for one {:.0f} % of the time", 100 * load.waited);
  }
  warning.note = {NoteKind::kBusy, {load.busy, static_cast<double>(load.cpus)}, std::move(text)};
  const int fitting = static_cast<int>(std::floor(free + kAlwaysBusy));
  warning.advice = "times will be too long and uncertain: stop the other programs (top shows them) or wait";
  if (fitting >= 1) warning.advice += fmt::format(", or measure with --threads {}", fitting);
  return warning;
}

}  // namespace headroom
