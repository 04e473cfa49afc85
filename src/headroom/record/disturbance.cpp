// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/disturbance.h"

#include <algorithm>
#include <cmath>

#include "headroom/record/throttle.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

template <typename Noise, typename IsHit>
double share(const Record& record, std::vector<Noise> ProcessSamples::*column, IsHit&& is_hit) {
  std::size_t samples = 0, hit = 0;
  for (const ProcessSamples& process : record.samples) {
    samples += (process.*column).size();
    hit += static_cast<std::size_t>(std::ranges::count_if(process.*column, is_hit));
  }
  return samples == 0 ? 0 : static_cast<double>(hit) / static_cast<double>(samples);
}

/// Whether the samples in which the kernel gave the CPU to another are another measurement than the rest: by
/// medians, where there are enough of the rest to say. A kernel thread that runs for microseconds is none.
bool preemption_shows(const Record& record) {
  constexpr std::size_t kEnough = 5;
  constexpr double kShows = 0.01;
  std::vector<double> preempted, others;
  for (const ProcessSamples& process : record.samples) {
    for (std::size_t i = process.warmup; i < std::min(process.values.size(), process.noise.size()); ++i)
      (process.noise[i].involuntary_switches > 0 ? preempted : others).push_back(process.values[i]);
  }
  if (preempted.empty() || others.size() < kEnough) return true;
  const double usual = median(others);
  return std::fabs(median(preempted) - usual) > kShows * std::fabs(usual);
}

}  // namespace

Disturbance disturbance_of(const Record& record) {
  const auto stolen = [](const SampleNoise& noise) { return noise.steal_ms > 0; };
  const auto preempted = [](const SampleNoise& noise) { return noise.involuntary_switches > 0; };
  const auto throttled = [](const DeviceNoise& device) { return is_throttled(device.throttle); };
  return {share(record, &ProcessSamples::noise, stolen), share(record, &ProcessSamples::noise, preempted),
          share(record, &ProcessSamples::device, throttled)};
}

std::vector<std::string> troubles_of(const Record& record) {
  const Disturbance found = disturbance_of(record);
  std::vector<std::string> troubles;
  if (record.busy_cpus > 0) troubles.emplace_back("busy with other programs");
  // A whole command is always switched away from now and then; a sample of a kernel lasts milliseconds.
  const bool is_short = record.model.type != "command";
  if (is_short && found.preempted > kPreemptedShare && preemption_shows(record))
    troubles.emplace_back("preempted by the kernel");
  if (found.stolen >= kDisturbedShare) troubles.emplace_back("stolen from by the hypervisor");
  if (found.throttled >= kDisturbedShare) troubles.emplace_back("throttled");
  if (is_held_by_quota(record)) troubles.emplace_back("held up by its quota of CPU time");
  return troubles;
}

bool is_held_by_quota(const Record& record) {
  return std::ranges::any_of(record.notes,
                             [](const std::string& note) { return note.starts_with(kQuotaNote); });
}

}  // namespace headroom
