// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/disturbance.h"

#include <algorithm>
#include <cmath>

#include "headroom/record/noise.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

template <typename Column, typename Count>
double share(const Record& record, Column ProcessSamples::*column, const Count& count) {
  std::size_t samples = 0, hit = 0;
  for (const ProcessSamples& process : record.samples) {
    samples += (process.*column).size();
    hit += count(process.*column);
  }
  return samples == 0 ? 0 : static_cast<double>(hit) / static_cast<double>(samples);
}

/// Whether the median of preempted samples differs from the rest's, if comparable.
bool preemption_matters(const Record& record) {
  constexpr std::size_t kEnough = 5;
  constexpr double kMinDifference = 0.01;
  std::vector<double> preempted, others;
  for (const ProcessSamples& process : record.samples) {
    for (std::size_t i = process.warmup; i < std::min(process.values.size(), process.noise.size()); ++i)
      (process.noise.value(i, &SampleNoise::involuntary_switches) > 0 ? preempted : others)
          .push_back(process.values[i]);
  }
  if (preempted.empty() || others.size() < kEnough) return true;
  const double usual = median(others);
  return std::fabs(median(preempted) - usual) > kMinDifference * std::fabs(usual);
}

}  // namespace

Disturbance disturbance_of(const Record& record) {
  const auto stolen = [](const NoiseSeries& noise) { return noise.count_positive(&SampleNoise::steal_ms); };
  const auto preempted = [](const NoiseSeries& noise) {
    return noise.count_positive(&SampleNoise::involuntary_switches);
  };
  const auto throttled = [](const std::vector<DeviceNoise>& device) {
    return static_cast<std::size_t>(std::ranges::count_if(
        device, [](const DeviceNoise& sample) { return is_throttled(sample.throttle); }));
  };
  return {share(record, &ProcessSamples::noise, stolen), share(record, &ProcessSamples::noise, preempted),
          share(record, &ProcessSamples::device, throttled)};
}

std::vector<std::string> disturbance_reasons(const Record& record) {
  const Disturbance found = disturbance_of(record);
  std::vector<std::string> troubles;
  if (record.busy_cpus > 0) troubles.emplace_back("busy with other programs");
  // Commands are always preempted now and then; a kernel's sample lasts milliseconds.
  const bool is_short = record.instrument != Instrument::kCommands;
  if (is_short && found.preempted > kPreemptedShare && preemption_matters(record))
    troubles.emplace_back("preempted by the kernel");
  if (found.stolen >= kDisturbedShare) troubles.emplace_back("interrupted by the hypervisor");
  if (found.throttled >= kDisturbedShare) troubles.emplace_back("throttled");
  if (has_note(record.notes, NoteKind::kQuota)) troubles.emplace_back("slowed by its CPU quota");
  return troubles;
}

}  // namespace headroom
