// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/timeline.h"

#include <algorithm>
#include <array>

namespace headroom::trace {

const char* to_string(TrackKind kind) {
  static constexpr std::array kNames{"steps", "collectives", "stream", "annotations", "waits", "thread"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(NameKind kind) {
  static constexpr std::array<const char*, kNameKinds> kNames{
      "compute", "communication", "memory", "operator", "call", "python", "annotation", "wait", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(CounterKind kind) {
  static constexpr std::array kNames{"queue", "allocated", "reserved"};
  return kNames[static_cast<std::size_t>(kind)];
}

TimelineLimits limits_of_rank(const TimelineLimits& limits, std::size_t ranks) {
  // Of a job of very many ranks each still shows what it does, if little of it.
  constexpr std::size_t kLeastSlices = 500, kLeastTracks = 8, kLeastPoints = 200, kLeastNodes = 300;
  const std::size_t parts = std::max<std::size_t>(ranks, 1);
  if (parts == 1) return limits;
  return {std::max(limits.slices / parts, kLeastSlices), std::max(limits.tracks / parts, kLeastTracks),
          std::max(limits.counter_points / parts, kLeastPoints),
          std::max(limits.flame_nodes / parts, kLeastNodes)};
}

}  // namespace headroom::trace
