// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/noise_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "headroom/base/units.h"
#include "headroom/record/page_share.h"
#include "headroom/record/throttle.h"
#include "headroom/schedule/series.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// Below these shares the disturbance is what every machine has.
constexpr double kStealShare = 0.01;
constexpr double kSwitchedShare = 0.20;
constexpr double kFaultedShare = 0.20;
/// A clock that moves by more than this between its deciles moves the times with it.
constexpr double kFrequencyFactor = 1.1;
/// Three processes that do not differ make the interval about twice as wide (series_median_interval).
constexpr double kProcessFactor = 4;
/// Two readings of the core-to-core latency this far apart come from two placements.
constexpr double kPlacementFactor = 1.7;

void note_steal(const Track& track, std::vector<std::string>& notes) {
  double steal_ms = 0, total_ms = 0;
  for (const Reading& reading : track.readings) {
    steal_ms += reading.noise.steal_ms;
    total_ms += reading.ns * static_cast<double>(track.iterations) / 1e6;
  }
  if (total_ms > 0 && steal_ms > kStealShare * total_ms) {
    notes.push_back(fmt::format("steal: the hypervisor took {:.0f} ms of {:.0f} ms", steal_ms, total_ms));
  }
}

void note_switches(const Track& track, std::vector<std::string>& notes) {
  const auto switched = std::ranges::count_if(
      track.readings, [](const Reading& reading) { return reading.noise.involuntary_switches > 0; });
  if (static_cast<double>(switched) > kSwitchedShare * static_cast<double>(track.readings.size())) {
    notes.push_back(
        fmt::format("preempted: {} of {} samples had involuntary switches", switched, track.readings.size()));
  }
}

void note_faults(const Track& track, std::vector<std::string>& notes) {
  const auto faulted = std::ranges::count_if(
      track.readings, [](const Reading& reading) { return reading.noise.page_faults > 0; });
  if (static_cast<double>(faulted) > kFaultedShare * static_cast<double>(track.readings.size())) {
    notes.push_back(fmt::format("page faults: in {} of {} samples", faulted, track.readings.size()));
  }
}

void note_clock(const std::string& name, std::vector<double> mhz, std::vector<std::string>& notes) {
  std::erase_if(mhz, [](double value) { return !(value > 0); });
  if (mhz.size() < 4) return;
  const double low = quantile(mhz, 0.1), high = quantile(mhz, 0.9);
  if (high > kFrequencyFactor * low) {
    notes.push_back(fmt::format("{}: between {:.0f} and {:.0f} MHz", name, low, high));
  }
}

void note_clocks(const Track& track, std::vector<std::string>& notes) {
  std::vector<double> cpu, multiprocessors, memory;
  for (const Reading& reading : track.readings) {
    cpu.push_back(reading.noise.frequency_mhz);
    multiprocessors.push_back(reading.device.sm_mhz);
    memory.push_back(reading.device.memory_mhz);
  }
  note_clock("frequency", std::move(cpu), notes);
  note_clock("device clock", std::move(multiprocessors), notes);
  note_clock("device memory clock", std::move(memory), notes);
}

void note_throttling(const Track& track, std::vector<std::string>& notes) {
  const auto having = [&](auto&& is_so) {
    return std::ranges::count_if(track.readings,
                                 [&](const Reading& reading) { return is_so(reading.device.throttle); });
  };
  const auto throttled = having(is_throttled);
  if (throttled == 0) return;
  std::string reasons;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if (reason.is_chosen) continue;
    const auto count = having([&](std::uint32_t bits) { return (bits & reason.bit) != 0; });
    if (count > 0) reasons += fmt::format("{}{} in {}", reasons.empty() ? "" : ", ", reason.name, count);
  }
  notes.push_back(fmt::format("throttled: the device's clocks were held down in {} of {} samples ({})",
                              throttled, track.readings.size(), reasons));
}

/// Fresh processes that disagree widen the interval, and more samples of each cannot narrow it.
void note_processes(const Track& track, std::vector<std::string>& notes) {
  const Series series = steady_series(track.readings);
  if (series.group_sizes.size() < 2) return;
  const auto together = series_median_interval(series.values, series.group_sizes);
  const auto pooled = series_median_interval(series.values);
  if (!together || !pooled) return;
  if (together->high - together->low > kProcessFactor * (pooled->high - pooled->low)) {
    notes.push_back("processes differ: more of them would narrow the interval, more samples would not");
  }
}

void note_placement(const Track& track, std::vector<std::string>& notes) {
  std::vector<double> latencies;
  for (const Reading& reading : track.readings) {
    if (reading.noise.placement_ns > 0) latencies.push_back(reading.noise.placement_ns);
  }
  if (latencies.size() < 4) return;
  const double low = quantile(latencies, 0.1), high = quantile(latencies, 0.9);
  if (high > kPlacementFactor * low) {
    notes.push_back(fmt::format("placement: the threads moved, core to core {:.0f} to {:.0f} ns", low, high));
  }
}

void note_warmup(const Track& track, std::vector<std::string>& notes) {
  const auto lengths = warmup_by_process(track.readings);
  const std::size_t warmup = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  if (warmup > 0)
    notes.push_back(fmt::format("warm-up: {} leading samples are kept but not counted", warmup));
}

/// The share of its inputs and outputs that lies in huge pages, as text; empty where nobody knows.
std::string pages_of(const Track& track) {
  const auto found = track.info.notes.find(kHugePagesKey);
  return found == track.info.notes.end() ? "" : found->second;
}

/// Whether `limit` is a part of it.
bool is_part(const LimitTrack& limit, const Limit& whole) {
  std::map<std::string, std::string> axes(limit.track.planned.spec.axes.begin(),
                                          limit.track.planned.spec.axes.end());
  return std::ranges::any_of(whole.parts, [&](const LimitPart& part) {
    return limit.track.planned.spec.experiment == "limit." + part.kind && axes["pattern"] == part.pattern &&
           axes["bytes"] == std::to_string(part.bytes);
  });
}

}  // namespace

std::string page_note(const Track& track, const Limit& limit, const std::vector<LimitTrack>& limits) {
  const std::string own = pages_of(track);
  for (const LimitTrack& other : limits) {
    const std::string its = pages_of(other.track);
    if (own.empty() || its.empty() || !is_part(other, limit)) continue;
    // Near all and all is the same; none is another memory, with a TLB that misses.
    if ((own == kNoHugePages) == (its == kNoHugePages)) continue;
    return fmt::format("{}{} of its inputs and outputs lies in huge pages, {} of those of its limit ({})",
                       kOtherPages, own, its, limit_name(limit));
  }
  return {};
}

std::vector<std::string> noise_notes(const Track& track, const std::optional<Limit>& limit, StopReason stop) {
  std::vector<std::string> notes;
  note_steal(track, notes);
  note_switches(track, notes);
  note_faults(track, notes);
  note_clocks(track, notes);
  note_throttling(track, notes);
  note_placement(track, notes);
  note_warmup(track, notes);
  note_processes(track, notes);
  if (limit && limit->unstable)
    notes.push_back("limit unstable: it moved by more than 10 % between its quartiles");
  if (limit && limit->interval && limit->interval->low > 1) {
    notes.push_back(fmt::format("above its limit ({}): {}its bytes or FLOPs are counted wrong",
                                format_percent(limit->fraction),
                                limit->unstable ? "the limit was held up, or " : ""));
  }
  if (stop == StopReason::kMaxTime) notes.push_back("time cap: stopped before the precision goal");
  return notes;
}

}  // namespace headroom
