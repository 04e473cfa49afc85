// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/case_limit.h"

#include <algorithm>
#include <map>

#include "headroom/schedule/limit_rates.h"
#include "headroom/schedule/limits.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// What at its best needs less than this share of the time that the other needs at its best is not what
/// binds; in rounds in which it looks slower, its sample was disturbed: short ones lose most to a busy
/// machine.
constexpr double kMayBind = 0.25;
/// Quartiles further apart than this share of the median make a limit unstable.
constexpr double kUnstableSpread = 0.10;

using BestPatterns = std::map<Resource, const LimitTrack*>;

/// The pattern of each resource with the best median rate.
BestPatterns best_patterns(const std::vector<LimitTrack>& limits) {
  BestPatterns best;
  std::map<Resource, double> best_rate;
  for (const LimitTrack& limit : limits) {
    // By its few samples it might seem to be the best of what has changed since.
    if (limit.track.rests) continue;
    const Series series = steady_series(limit.track.readings);
    if (series.values.empty() || limit.resource == Resource::kPingPong) continue;
    const double median_rate = limit_rate(limit, median(series.values));
    if (best.contains(limit.resource) && best_rate[limit.resource] >= median_rate) continue;
    best[limit.resource] = &limit;
    best_rate[limit.resource] = median_rate;
  }
  return best;
}

LimitPart part_of(const LimitTrack& limit) {
  const CaseSpec& spec = limit.track.planned.spec;
  LimitPart part;
  part.kind = spec.experiment.substr(sizeof("limit.") - 1);
  for (const auto& [axis, value] : spec.axes) {
    if (axis == "bytes") part.bytes = std::stoll(value);
    if (axis == "pattern") part.pattern = value;
    if (axis == "dtype") part.dtype = value;
  }
  if (limit.track.planned.device == "cpu" && limit.resource != Resource::kExchange)
    part.threads = spec.threads;
  return part;
}

/// The resources that bind the work.
std::vector<LimitPart> binding_parts(const BestPatterns& best, std::size_t bound) {
  std::vector<LimitPart> parts;
  for (const auto& [resource, limit] : best) {
    if (bound_of(resource) == bound) parts.push_back(part_of(*limit));
  }
  return parts;
}

/// `traffic` without what cannot bind it: its FLOPs, its bytes, or what it exchanges.
Traffic binding_part(Traffic traffic, const BestPatterns& best) {
  Rates rates;
  for (const auto& [resource, limit] : best) {
    const Series series = steady_series(limit->track.readings);
    set_rate(rates, resource, limit_rate(*limit, std::ranges::min(series.values)));
  }
  const Floors floors = floors_of(traffic, rates);
  const double least = kMayBind * std::ranges::max(floors);
  if (floors[kComputeBound] < least) traffic.flops = 0;
  if (floors[kMemoryBound] < least) traffic.bytes_read = traffic.bytes_written = 0;
  if (floors[kExchangeBound] < least) traffic.exchanged = 0;
  return traffic;
}

/// The rates of the rounds in which every one of `best` was sampled.
std::map<std::uint32_t, Rates> rates_by_round(const BestPatterns& best) {
  std::map<std::uint32_t, Rates> rates;
  std::map<std::uint32_t, std::size_t> sampled;
  for (const auto& [resource, limit] : best) {
    for (const Reading& reading : limit->track.readings) {
      set_rate(rates[reading.round], resource, limit_rate(*limit, reading.ns));
      ++sampled[reading.round];
    }
  }
  std::erase_if(rates, [&](const auto& entry) { return sampled[entry.first] < best.size(); });
  return rates;
}

void append(Series& series, std::uint32_t round, double value, bool new_process) {
  series.values.push_back(value);
  series.rounds.push_back(round);
  if (new_process || series.group_sizes.empty()) series.group_sizes.push_back(0);
  ++series.group_sizes.back();
}

/// The share of the limit in single rounds.
std::optional<Limit::Rounds> rounds_of(const Track& track, const Floor& floor) {
  std::map<std::uint32_t, double> floors;
  for (std::size_t i = 0; i < floor.series.rounds.size(); ++i)
    floors[floor.series.rounds[i]] = floor.series.values[i];
  const Series steady = steady_series(track.readings);
  std::vector<double> shares;
  for (std::size_t i = 0; i < steady.rounds.size(); ++i) {
    const auto found = floors.find(steady.rounds[i]);
    if (found != floors.end()) shares.push_back(found->second / steady.values[i]);
  }
  if (shares.empty()) return std::nullopt;
  return Limit::Rounds{shares.size(), quantile(shares, 0.25), quantile(shares, 0.75)};
}

}  // namespace

std::optional<Floor> floor_of(const std::vector<LimitTrack>& limits, const Work& work) {
  const BestPatterns best = best_patterns(limits);
  if (best.empty()) return std::nullopt;
  const std::map<std::uint32_t, Rates> rates = rates_by_round(best);
  const Traffic traffic = binding_part(traffic_of(work), best);
  Floor floor;
  Floors totals{};
  std::optional<std::uint32_t> epoch;
  for (const Reading& reading : best.begin()->second->track.readings) {
    const auto found = rates.find(reading.round);
    const double seconds = found == rates.end() ? 0 : floor_seconds(traffic, found->second);
    if (seconds <= 0) continue;
    const bool new_process = epoch != reading.epoch;
    epoch = reading.epoch;
    append(floor.series, reading.round, seconds * 1e9, new_process);
    if (found->second.peak > 0) append(floor.peak_flops, reading.round, found->second.peak, new_process);
    const Floors floors = floors_of(traffic, found->second);
    for (std::size_t bound = 0; bound < floors.size(); ++bound) totals[bound] += floors[bound];
  }
  if (floor.series.values.empty()) return std::nullopt;
  floor.parts =
      binding_parts(best, static_cast<std::size_t>(std::ranges::max_element(totals) - totals.begin()));
  return floor;
}

CaseLimit case_limit(const Track& track, const std::vector<LimitTrack>& limits) {
  const std::optional<Floor> floor = floor_of(limits_of(track, limits), track.info.work);
  if (!floor) return {};
  const auto ratio = ratio_of(floor->series, steady_series(track.readings));
  if (!ratio) return {std::nullopt, floor->peak_flops};
  Limit limit;
  limit.parts = floor->parts;
  limit.rounds = rounds_of(track, *floor);
  limit.fraction = ratio->ratio;
  limit.interval = ratio->interval;
  const std::vector<double>& values = floor->series.values;
  limit.unstable = quantile(values, 0.75) - quantile(values, 0.25) > kUnstableSpread * median(values);
  return {limit, floor->peak_flops};
}

}  // namespace headroom
