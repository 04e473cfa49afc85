// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/counted_passes.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace headroom {
namespace {

constexpr std::size_t kSamplesOfAPass = 10;
constexpr std::size_t kMostPasses = 5;

std::size_t samples_since(const Track& track, std::uint32_t round) {
  return static_cast<std::size_t>(
      std::ranges::count_if(track.readings, [&](const Reading& reading) { return reading.round >= round; }));
}

WorkCounts per_iteration(WorkCounts counts, std::uint64_t iterations) {
  const auto count = static_cast<double>(iterations);
  for (std::optional<double>* number : {&counts.instructions, &counts.cycles, &counts.cache_misses,
                                        &counts.memory_bytes, &counts.memory_bytes_written}) {
    if (*number) **number /= count;
  }
  counts.background_bytes /= count;
  return counts;
}

}  // namespace

std::vector<Track*> countable(std::vector<Track>& cases, const std::vector<RunnerOffer>& offers,
                              std::uint32_t first_round) {
  std::vector<Track*> tracks;
  for (Track& track : cases) {
    if (!track.alive() || track.planned.device != "cpu" || samples_since(track, first_round) == 0) continue;
    const std::size_t runner = track.planned.runner;
    if (runner < offers.size() && offers[runner].counts) tracks.push_back(&track);
  }
  return tracks;
}

void count_passes(Track& track, Worker& worker, std::uint32_t epoch, std::uint32_t first_round) {
  const std::size_t passes =
      std::clamp<std::size_t>(samples_since(track, first_round) / kSamplesOfAPass, 1, kMostPasses);
  track.calls_after = 0;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const CountReply reply = worker.count(track.id, {track.iterations, track.lead_in});
    track.calls_after += track.iterations + track.lead_in;
    if (!reply.failure.empty()) {
      track.uncounted = reply.failure;
      return;
    }
    track.counted.push_back({epoch, per_iteration(reply.counts, track.iterations)});
  }
}

}  // namespace headroom
