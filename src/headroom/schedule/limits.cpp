// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "headroom/experiment/state.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

double known(double first, double second, double third) {
  if (first > 0) return first;
  return second > 0 ? second : std::max(third, 0.0);
}

double mixed(double read, double write) {
  return 2 / (1 / read + 1 / write);
}

/// Independent bounds; reads, writes and copies add up.
enum Bound : std::size_t { kMemoryBound, kComputeBound, kExchangeBound };

/// Seconds by Bound.
using Floors = std::array<double, 3>;

constexpr double kPatternSlack = 1.15;
/// Far below 1: a preempted calibration overstates times severalfold.
constexpr double kResourceShare = 0.125;
/// Cheap to keep; samples of the peak are easily disturbed.
constexpr double kBytesShare = 0.02;
constexpr double kNegligibleShare = 0.02;

struct LimitKind {
  const char* experiment;
  Resource resource;
};
constexpr std::array<LimitKind, 6> kLimitKinds{{{"limit.read", Resource::kRead},
                                                {"limit.write", Resource::kWrite},
                                                {"limit.copy", Resource::kCopy},
                                                {"limit.peak", Resource::kPeak},
                                                {"limit.exchange", Resource::kExchange},
                                                {"limit.pingpong", Resource::kPingPong}}};

/// Returns 0 if `resource` does not bound this traffic.
double bounded_bytes(Resource resource, const Traffic& traffic) {
  if (resource == Resource::kExchange) return traffic.exchanged;
  const double mixed = 2 * std::min(traffic.bytes_read, traffic.bytes_written);
  const double rest = std::fabs(traffic.bytes_read - traffic.bytes_written);
  const double total = mixed + rest;
  double bytes = 0;
  if (resource == Resource::kCopy) bytes = mixed;
  if (resource == Resource::kRead && traffic.bytes_read > traffic.bytes_written) bytes = rest;
  if (resource == Resource::kWrite && traffic.bytes_written > traffic.bytes_read) bytes = rest;
  return total > 0 && bytes >= kNegligibleShare * total ? bytes : 0;
}

/// Bandwidth is constant beyond four last-level caches; devices' caches are far smaller.
std::int64_t capped_working_set(double bytes, const std::string& device) {
  const std::int64_t caches = device == "cpu" ? 4 * last_level_cache_bytes() : 0;
  const auto cap = static_cast<double>(std::max(caches, std::int64_t{1} << 30));
  return static_cast<std::int64_t>(std::min(bytes, cap));
}

/// Fits the caches of one core, where one thread may beat several.
constexpr double kOneThreadBytes = 1 << 20;

std::string ranks_of(const PlannedCase& planned) {
  const auto found = std::ranges::find(planned.spec.axes, "ranks", &AxisTexts::value_type::first);
  return found == planned.spec.axes.end() ? "" : found->second;
}

/// 0 without ranks.
int local_rank_count(const PlannedCase& planned, const std::vector<RankHello>& ranks) {
  const std::string text = ranks_of(planned);
  if (ranks.empty() || text.empty()) return 0;
  const auto taking_part = std::min(ranks.size(), static_cast<std::size_t>(std::stoul(text)));
  return static_cast<int>(
      std::count_if(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(taking_part),
                    [&](const RankHello& one) { return one.host == ranks.front().host; }));
}

std::vector<int> thread_counts(const PlannedCase& planned, Caches caches, Resource resource, const Work& work,
                               int ranks) {
  const int threads = planned.spec.threads;
  if (ranks > 0) return {resource == Resource::kExchange ? threads : threads * ranks};
  const bool is_memory = resource != Resource::kPeak && resource != Resource::kPingPong;
  const bool is_near = caches == Caches::kHot && work.bytes <= kOneThreadBytes;
  if (planned.device == "cpu" && is_memory && is_near && threads > 1) return {threads, 1};
  return {threads};
}

Traffic traffic_of(const Work& work) {
  return {work.bytes - work.bytes_written, work.bytes_written, work.flops, work.exchanged};
}

/// Empty if the limit does not apply.
std::vector<std::string> axis_values(const Axis& axis, Resource resource, const Track& bounded) {
  const Work& work = bounded.info.work;
  if (axis.name == "bytes") {
    const double bytes = bounded_bytes(resource, traffic_of(work));
    if (bytes < 1) return {};
    return {std::to_string(capped_working_set(bytes, bounded.planned.device))};
  }
  if (axis.name == "ranks") return {ranks_of(bounded.planned)};
  if (axis.name == "dtype") {
    const bool known = std::ranges::find(axis.values, work.dtype) != axis.values.end();
    return work.flops > 0 && known ? std::vector{work.dtype} : std::vector<std::string>{};
  }
  return axis.values;
}

/// Null if no runner offers it.
std::pair<std::size_t, const ExperimentDescription*> offered(const std::vector<RunnerOffer>& offers,
                                                             const std::string& name,
                                                             const std::string& device) {
  for (std::size_t runner = 0; runner < offers.size(); ++runner) {
    for (const ExperimentDescription& experiment : offers[runner].experiments) {
      if (experiment.name == name && experiment.device == device) return {runner, &experiment};
    }
  }
  return {0, nullptr};
}

constexpr double kClearly = 1.03;
constexpr double kConfidence = 0.99;

bool can_be_beaten(const LimitTrack& limit) {
  return limit.track.is_sampled() && limit.resource != Resource::kPingPong && !limit.track.readings.empty();
}

bool compete(const LimitTrack& a, const LimitTrack& b) {
  return a.resource == b.resource && a.track.planned.device == b.track.planned.device && a.ranks == b.ranks;
}

Bound bound_of(Resource resource) {
  if (resource == Resource::kPeak) return kComputeBound;
  return resource == Resource::kExchange ? kExchangeBound : kMemoryBound;
}

/// Bytes/s, or FLOP/s for the peak.
double limit_rate(const LimitTrack& limit, double ns) {
  const Work& work = limit.track.info.work;
  const double amounts[] = {work.bytes, work.flops, work.exchanged};
  return amounts[bound_of(limit.resource)] / (ns * 1e-9);
}

/// Seconds per byte or FLOP.
Series costs(const LimitTrack& limit) {
  Series series = steady_series(limit.track.readings);
  for (double& value : series.values) value = 1 / limit_rate(limit, value);
  return series;
}

bool is_clearly_slower(const Series& series, const Series& best) {
  const SeriesPairs pairs = pairs_of(series, best);
  if (pairs.a.empty()) return false;
  const RatioEstimate ratio = RatioSeries::paired(pairs.a, pairs.b, pairs.group_sizes).at(kConfidence);
  return ratio.interval && ratio.interval->low > kClearly;
}

/// A resource with a fastest floor below this share of the largest cannot bind; rounds that suggest it are
/// disturbed.
constexpr double kMinBindingShare = 0.25;
/// Interquartile range over median.
constexpr double kUnstableSpread = 0.10;

using BestPatterns = std::map<Resource, const LimitTrack*>;

/// By median rate.
BestPatterns best_patterns(const std::vector<LimitTrack>& limits) {
  BestPatterns best;
  std::map<Resource, double> best_rate;
  for (const LimitTrack& limit : limits) {
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

std::vector<LimitPart> binding_parts(const BestPatterns& best, std::size_t bound) {
  std::vector<LimitPart> parts;
  for (const auto& [resource, limit] : best) {
    if (bound_of(resource) == bound) parts.push_back(part_of(*limit));
  }
  return parts;
}

Floors floors_of(const Traffic& traffic, const Rates& rates) {
  return {memory_floor_seconds(traffic, rates), compute_floor_seconds(traffic, rates),
          exchange_floor_seconds(traffic, rates)};
}

void set_rate(Rates& rates, Resource resource, double value) {
  switch (resource) {
    case Resource::kRead:
      rates.read = value;
      break;
    case Resource::kWrite:
      rates.write = value;
      break;
    case Resource::kCopy:
      rates.copy = value;
      break;
    case Resource::kPeak:
      rates.peak = value;
      break;
    case Resource::kExchange:
      rates.exchange = value;
      break;
    case Resource::kPingPong:
      break;
  }
}

Traffic binding_part(Traffic traffic, const BestPatterns& best) {
  Rates rates;
  for (const auto& [resource, limit] : best) {
    const Series series = steady_series(limit->track.readings);
    set_rate(rates, resource, limit_rate(*limit, std::ranges::min(series.values)));
  }
  const Floors floors = floors_of(traffic, rates);
  const double least = kMinBindingShare * std::ranges::max(floors);
  if (floors[kComputeBound] < least) traffic.flops = 0;
  if (floors[kMemoryBound] < least) traffic.bytes_read = traffic.bytes_written = 0;
  if (floors[kExchangeBound] < least) traffic.exchanged = 0;
  return traffic;
}

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

double memory_floor_seconds(const Traffic& traffic, const Rates& rates) {
  const double read = known(rates.read, rates.copy, rates.write);
  const double write = known(rates.write, rates.copy, rates.read);
  if (read <= 0) return 0;
  const double copy = rates.copy > 0 ? rates.copy : mixed(read, write);
  const double paired = std::min(traffic.bytes_read, traffic.bytes_written);
  return 2 * paired / copy + (traffic.bytes_read - paired) / read + (traffic.bytes_written - paired) / write;
}

double compute_floor_seconds(const Traffic& traffic, const Rates& rates) {
  return rates.peak > 0 ? traffic.flops / rates.peak : 0;
}

double exchange_floor_seconds(const Traffic& traffic, const Rates& rates) {
  return rates.exchange > 0 ? traffic.exchanged / rates.exchange : 0;
}

double floor_seconds(const Traffic& traffic, const Rates& rates) {
  return std::max({compute_floor_seconds(traffic, rates), memory_floor_seconds(traffic, rates),
                   exchange_floor_seconds(traffic, rates)});
}

std::vector<LimitTrack> limit_candidates(const std::vector<RunnerOffer>& offers, const Track& bounded) {
  const PlannedCase& planned = bounded.planned;
  const Caches caches = measured_caches(bounded);
  const int ranks = local_rank_count(planned, offers.at(planned.runner).ranks);
  std::vector<LimitTrack> candidates;
  for (const LimitKind& kind : kLimitKinds) {
    if (kind.resource == Resource::kPingPong && (planned.spec.threads < 2 || ranks > 0)) continue;
    const auto [runner, limit] = offered(offers, kind.experiment, planned.device);
    if (limit == nullptr) continue;
    const auto values = [&](const Axis& axis) { return axis_values(axis, kind.resource, bounded); };
    for (const AxisTexts& point : axis_points(limit->axes, values)) {
      for (const int threads : thread_counts(planned, caches, kind.resource, bounded.info.work, ranks)) {
        LimitTrack& candidate = candidates.emplace_back();
        candidate.resource = kind.resource;
        if (ranks > 0) candidate.ranks = ranks_of(planned);
        candidate.track.planned = {
            runner,
            {limit->name, point, limit->backends.front(), threads, caches, planned.spec.seed},
            limit->metric,
            limit->device,
            true};
      }
    }
  }
  return candidates;
}

void drop_loose_candidates(std::vector<LimitTrack>& limits, const Work& work, bool needs_peak) {
  std::map<Resource, double> best_rate;
  for (const LimitTrack& limit : limits) {
    if (!limit.track.alive() || limit.track.calibrated_ns <= 0) continue;
    best_rate[limit.resource] =
        std::max(best_rate[limit.resource], limit_rate(limit, limit.track.calibrated_ns));
  }
  Rates rates;
  for (const auto& [resource, value] : best_rate) set_rate(rates, resource, value);
  const Floors floors = floors_of(traffic_of(work), rates);
  const double most = std::ranges::max(floors);
  std::erase_if(limits, [&](const LimitTrack& limit) {
    if (!limit.track.alive()) return true;
    if (limit.resource == Resource::kPingPong) return false;
    if (limit_rate(limit, limit.track.calibrated_ns) * kPatternSlack < best_rate[limit.resource]) return true;
    if (limit.resource == Resource::kPeak)
      return !needs_peak && floors[kComputeBound] < kResourceShare * most;
    return floors[bound_of(limit.resource)] < kBytesShare * most;
  });
}

bool share_limits(const Track& one, const Track& other) {
  return one.planned.device == other.planned.device && ranks_of(one.planned) == ranks_of(other.planned);
}

std::vector<LimitTrack> limits_of(const Track& bounded, const std::vector<LimitTrack>& limits) {
  std::vector<LimitTrack> found;
  std::ranges::copy_if(limits, std::back_inserter(found), [&](const LimitTrack& limit) {
    const bool of_other_ranks = !limit.ranks.empty() && limit.ranks != ranks_of(bounded.planned);
    return limit.track.planned.device == bounded.planned.device && !of_other_ranks;
  });
  return found;
}

std::vector<std::size_t> beaten_limits(const std::vector<LimitTrack>& limits) {
  std::vector<std::optional<Series>> all(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (can_be_beaten(limits[i])) all[i] = costs(limits[i]);
  }
  std::vector<std::size_t> beaten;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!all[i] || all[i]->values.empty()) continue;
    std::size_t best = i;
    for (std::size_t other = 0; other < limits.size(); ++other) {
      if (!all[other] || all[other]->values.empty() || !compete(limits[i], limits[other])) continue;
      if (median(all[other]->values) < median(all[best]->values)) best = other;
    }
    if (best != i && is_clearly_slower(*all[i], *all[best])) beaten.push_back(i);
  }
  return beaten;
}

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
