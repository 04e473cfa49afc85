// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/trace/collectives/collective_calls.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/timeline/lanes.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// A track whose events are not yet slices.
struct TrackDraft {
  Track track;                    ///< without lanes
  std::int64_t number = 0;        ///< of the stream
  std::vector<LaneEvent> events;  ///< their names are TrackDrafts'

  bool nests() const { return track.kind != TrackKind::kStream && track.kind != TrackKind::kCollectives; }
};

struct TrackDrafts {
  std::vector<TrackDraft> tracks;
  // By name: those of the trace by their numbers, then `own_names`, the collectives'.
  std::vector<NameKind> kinds;
  std::vector<std::string> own_names;
  std::string name(const Names& of_trace, std::uint32_t number) const {
    return number < of_trace.size() ? std::string(of_trace[number]) : own_names[number - of_trace.size()];
  }
};

/// What events of a category are, of kernels as far as it tells.
NameKind name_kind(Category category);

/// Every event in its track, in the order of the file; tracks as they are drawn: the steps, the devices, the
/// threads of the host with the busiest first.
TrackDrafts track_drafts(const Trace& trace, std::span<const CollectiveCall> calls);

}  // namespace headroom::trace
