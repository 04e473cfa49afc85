// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "headroom/experiment/case_spec.h"
#include "headroom/machine/roofline.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// What bounds alone: reads, writes and copies are parts of one floor.
enum Bound : std::size_t { kMemoryBound, kComputeBound, kExchangeBound };
Bound bound_of(Resource resource);

/// Least seconds of `traffic` in each of these.
using Floors = std::array<double, 3>;
Floors floors_of(const Traffic& traffic, const Rates& rates);

/// How the work's bytes split.
Traffic traffic_of(const Work& work);

/// What a limit reaches in a sample of `ns` an iteration: bytes/s, or FLOP/s for the peak.
double limit_rate(const LimitTrack& limit, double ns);
/// Nothing for what tells no rate.
void set_rate(Rates& rates, Resource resource, double value);

}  // namespace headroom
