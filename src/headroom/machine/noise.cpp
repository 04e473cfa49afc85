// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/noise.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "headroom/base/text.h"
#include "headroom/machine/text_file.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

std::string cpufreq_path(const char* name) {
  const std::vector<int> cpus = allowed_cpus();
  const int cpu = cpus.empty() ? 0 : cpus.front();
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/" + name;
}

/// The start of an open file, without allocating; empty where it cannot be read.
template <std::size_t size>
std::string_view reread(const Descriptor& file, std::array<char, size>& buffer) {
  const ssize_t got = file.is_open() ? ::pread(file.get(), buffer.data(), buffer.size(), 0) : 0;
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

/// Counters of the kernel may step back (steal does when a virtual machine moves).
std::uint64_t increase(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;
}

std::uint32_t saturated(std::uint64_t value) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

std::optional<std::uint64_t> steal_ticks(std::string_view proc_stat) {
  constexpr int kStealField = 8;  // proc(5): user nice system idle iowait irq softirq steal
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
  noise.steal_ms = static_cast<double>(increase(start_.steal_ticks, now.steal_ticks)) * ms_per_tick_;
  noise.involuntary_switches = saturated(increase(start_.involuntary, now.involuntary));
  noise.page_faults = saturated(increase(start_.faults, now.faults));
  std::array<char, 32> text;
  const auto kilohertz = to_number(trimmed(reread(frequency_file_, text)));
  noise.frequency_mhz = kilohertz.value_or(0) / 1000;
  return noise;
}

std::string cpu_governor() {
  return value_in_file(cpufreq_path("scaling_governor"));
}

}  // namespace headroom
