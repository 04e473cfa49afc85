// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "headroom/machine/last_level_cache.h"
#include "headroom/schedule/limit_rates.h"

namespace headroom {
namespace {

constexpr double kPatternSlack = 1.15;
/// Far below 1: a calibration that lost a time slice reads several times too long, and must not cost the
/// limit that binds.
constexpr double kResourceShare = 0.125;
/// The same of memory and of exchanges beside the peak: samples of the peak are the shortest and lose most to
/// a time slice, and those of a limit of bytes far from binding cost little.
constexpr double kBytesShare = 0.02;
/// A part of the traffic below this share does not move the floor beyond what is measured.
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

/// Bytes of the working set that `resource` bounds; 0 where it does not bound this traffic.
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

/// Beyond four last-level caches bandwidth no longer depends on the size: a model of 13 GB needs no twin. Of
/// the caches only the host's are known here; those of devices are far below a quarter of the least cap.
std::int64_t capped_working_set(double bytes, const std::string& device) {
  const std::int64_t caches = device == "cpu" ? 4 * last_level_cache_bytes() : 0;
  const auto cap = static_cast<double>(std::max(caches, std::int64_t{1} << 30));
  return static_cast<std::int64_t>(std::min(bytes, cap));
}

/// Up to here data lie in the caches of one core, where one thread may be faster than several that share it.
constexpr double kOneThreadBytes = 1 << 20;

/// The text of the axis "ranks"; empty where there is none.
std::string ranks_of(const PlannedCase& planned) {
  const auto found = std::ranges::find(planned.spec.axes, "ranks", &AxisTexts::value_type::first);
  return found == planned.spec.axes.end() ? "" : found->second;
}

/// How many ranks of the case run on the machine of the first; 0 outside of a job of ranks.
int ranks_here(const PlannedCase& planned, const std::vector<RankHello>& ranks) {
  const std::string text = ranks_of(planned);
  if (ranks.empty() || text.empty()) return 0;
  const auto taking_part = std::min(ranks.size(), static_cast<std::size_t>(std::stoul(text)));
  return static_cast<int>(
      std::count_if(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(taking_part),
                    [&](const RankHello& one) { return one.host == ranks.front().host; }));
}

/// The thread counts at which the machine may be fastest at what `resource` bounds: those of the case, and
/// one. Ranks that share a machine share what it can do.
std::vector<int> thread_counts(const PlannedCase& planned, Caches caches, Resource resource, const Work& work,
                               int ranks) {
  const int threads = planned.spec.threads;
  if (ranks > 0) return {resource == Resource::kExchange ? threads : threads * ranks};
  const bool is_memory = resource != Resource::kPeak && resource != Resource::kPingPong;
  const bool is_near = caches == Caches::kHot && work.bytes <= kOneThreadBytes;
  if (planned.device == "cpu" && is_memory && is_near && threads > 1) return {threads, 1};
  return {threads};
}

/// The values of an axis of a limit for this work; none where the limit does not apply.
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

/// The first runner that has this limit of the device, and the limit; null where none has.
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

std::vector<AxisTexts> points(const ExperimentDescription& limit, Resource resource, const Track& bounded) {
  std::vector<AxisTexts> found{{}};
  for (const Axis& axis : limit.axes) {
    std::vector<AxisTexts> longer;
    for (const AxisTexts& point : found) {
      for (const std::string& value : axis_values(axis, resource, bounded)) {
        longer.push_back(point);
        longer.back().emplace_back(axis.name, value);
      }
    }
    found = std::move(longer);
  }
  return found;
}

}  // namespace

std::vector<LimitTrack> limit_candidates(const std::vector<RunnerOffer>& offers, const Track& bounded) {
  const PlannedCase& planned = bounded.planned;
  const Caches caches = measured_caches(bounded);
  const int ranks = ranks_here(planned, offers.at(planned.runner).ranks);
  std::vector<LimitTrack> candidates;
  for (const LimitKind& kind : kLimitKinds) {
    if (kind.resource == Resource::kPingPong && (planned.spec.threads < 2 || ranks > 0)) continue;
    const auto [runner, limit] = offered(offers, kind.experiment, planned.device);
    if (limit == nullptr) continue;
    for (const AxisTexts& point : points(*limit, kind.resource, bounded)) {
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

}  // namespace headroom
