// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/sound_numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

namespace headroom {
namespace {

struct Amount {
  double number;
  const char* unit;
};

/// False for what is not a number, too.
bool is_within(double number, double least, double most) {
  return number >= least && number <= most;
}

}  // namespace

std::string unsound(const CaseInfo& info) {
  const Work& work = info.work;
  for (const auto& [number, unit] :
       {Amount{work.flops, "FLOPs"}, Amount{work.bytes, "bytes"}, Amount{work.bytes_written, "bytes written"},
        Amount{work.exchanged, "bytes exchanged"}}) {
    if (!is_within(number, 0, kMostOfAnything)) return fmt::format("says a work of {} {}", number, unit);
  }
  if (work.bytes_written > work.bytes) {
    return fmt::format("writes {} bytes of {} bytes in all; bytes counts both reads and writes",
                       work.bytes_written, work.bytes);
  }
  for (const ReportedMetric& metric : info.metrics) {
    if (!is_within(metric.amount, -kMostOfAnything, kMostOfAnything))
      return fmt::format("reports {} = {}", metric.name, metric.amount);
  }
  if (!is_within(info.max_error, 0, kMostOfAnything) || !is_within(info.tolerance, 0, kMostOfAnything))
    return fmt::format("has an error of {} (tolerance {})", info.max_error, info.tolerance);
  if (info.verified && info.max_error > info.tolerance)
    return fmt::format("says that it is verified, with an error of {} (tolerance {})", info.max_error,
                       info.tolerance);
  if (!is_within(static_cast<double>(info.copies), 1, 1e12))
    return fmt::format("rotates through {} copies of its inputs", info.copies);
  return {};
}

std::string unsound(const Sample& sample) {
  if (!is_within(sample.elapsed_ns, 0, kMostNanoseconds))
    return fmt::format("measured a time of {} ns", sample.elapsed_ns);
  for (const double column : sample.columns) {
    if (!is_within(column, -kMostOfAnything, kMostOfAnything))
      return fmt::format("measured {} in a column", column);
  }
  const SampleNoise& noise = sample.noise;
  const DeviceNoise& device = sample.device;
  for (const auto& [number, unit] :
       {Amount{noise.steal_ms, "ms stolen"}, Amount{noise.frequency_mhz, "MHz"}, Amount{device.sm_mhz, "MHz"},
        Amount{device.memory_mhz, "MHz of memory"}, Amount{device.power_w, "W"}}) {
    if (!is_within(number, 0, kMostNanoseconds)) return fmt::format("noted {} {} in a sample", number, unit);
  }
  if (!is_within(device.temperature_c, -300, kMostNanoseconds))
    return fmt::format("noted {} °C in a sample", device.temperature_c);
  return {};
}

std::string unsound(const WorkCounts& counts) {
  for (const auto& [number, unit] :
       {Amount{counts.instructions.value_or(0), "instructions"}, Amount{counts.cycles.value_or(0), "cycles"},
        Amount{counts.cache_misses.value_or(0), "cache misses"},
        Amount{counts.memory_bytes.value_or(0), "bytes"},
        Amount{counts.memory_bytes_written.value_or(0), "bytes written"},
        Amount{counts.background_bytes, "bytes of others"}}) {
    if (!is_within(number, 0, kMostOfAnything)) return fmt::format("counted {} {}", number, unit);
  }
  if (!is_within(counts.share, 0, 1)) return fmt::format("counted in {} of the time", counts.share);
  return {};
}

}  // namespace headroom
