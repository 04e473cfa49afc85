// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/limit_rates.h"

namespace headroom {

Bound bound_of(Resource resource) {
  if (resource == Resource::kPeak) return kComputeBound;
  return resource == Resource::kExchange ? kExchangeBound : kMemoryBound;
}

Floors floors_of(const Traffic& traffic, const Rates& rates) {
  return {memory_floor_seconds(traffic, rates), compute_floor_seconds(traffic, rates),
          exchange_floor_seconds(traffic, rates)};
}

Traffic traffic_of(const Work& work) {
  return {work.bytes - work.bytes_written, work.bytes_written, work.flops, work.exchanged};
}

double limit_rate(const LimitTrack& limit, double ns) {
  const Work& work = limit.track.info.work;
  const double amounts[] = {work.bytes, work.flops, work.exchanged};
  return amounts[bound_of(limit.resource)] / (ns * 1e-9);
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

}  // namespace headroom
