// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/plan.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// Bytes and FLOPs of one iteration.
struct Traffic {
  double bytes_read = 0;
  double bytes_written = 0;
  double flops = 0;
  double exchanged = 0;  ///< bytes that each rank sends and receives
};

/// Rates of the machine; 0 if unknown.
struct Rates {
  double read = 0;      ///< bytes/s
  double write = 0;     ///< bytes/s
  double copy = 0;      ///< bytes read + written per second at a mix of 1 : 1
  double peak = 0;      ///< FLOP/s
  double exchange = 0;  ///< bytes/s per rank, sending and receiving at once
};

/// Minimum time in seconds of `traffic` at `rates`: the maximum of the compute floor (flops / peak), the
/// exchange floor (exchanged / exchange) and the memory floor, in which 2 min(read, write) bytes move at the
/// copy rate and the rest at the read or write rate. Unknown memory rates are replaced by known ones; a floor
/// without a known rate is 0. Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
double floor_seconds(const Traffic& traffic, const Rates& rates);

double memory_floor_seconds(const Traffic& traffic, const Rates& rates);
double compute_floor_seconds(const Traffic& traffic, const Rates& rates);
double exchange_floor_seconds(const Traffic& traffic, const Rates& rates);

/// Returns the limit cases that could bound a prepared case, each from the first runner that offers it for
/// the same device: reads, writes and copies of the same working set and cache state, in every access
/// pattern, with as many threads (plus one thread, for hot data that fits the caches of one core), the peak
/// of its dtype, and the ping-pong latency that shows where the threads lie. In a rank job: with the threads
/// of all ranks on the first machine, plus exchanges between ranks.
std::vector<LimitTrack> limit_candidates(const std::vector<RunnerOffer>& offers, const Track& bounded);

/// Removes candidates that cannot be the limit by their calibrated times. Keeps patterns within 15 % of the
/// best of their resource; the peak if its floor is at least an eighth of memory's or if `needs_peak`; memory
/// and exchanges if their floor is at least a fiftieth of the binding one.
void drop_loose_candidates(std::vector<LimitTrack>& limits, const Work& work, bool needs_peak);

/// Whether both cases have the same limits: same device, same rank count.
bool share_limits(const Track& one, const Track& other);
/// Returns the limits that bound this case.
std::vector<LimitTrack> limits_of(const Track& bounded, const std::vector<LimitTrack>& limits);

/// Returns the indices of limits that bound nothing: another pattern of the same resource, device and ranks
/// is faster by 3 % beyond the 99 % interval of the ratio in common rounds. The 3 % allow for near-equal
/// patterns that change places in later processes.
std::vector<std::size_t> beaten_limits(const std::vector<LimitTrack>& limits);

/// The floor of `work` in each round, in ns per iteration, from the best pattern (by median) of each resource
/// that may bind. A resource whose floor at its fastest samples is far below the others' is left out of the
/// maximum.
struct Floor {
  Series series;
  Series peak_flops;             ///< FLOP/s in each round; empty if not sampled
  std::vector<LimitPart> parts;  ///< what binds the work
};
/// Returns nothing without a sampled limit.
std::optional<Floor> floor_of(const std::vector<LimitTrack>& limits, const Work& work);

/// How the readings of a case compare with the limits of the same rounds.
struct CaseLimit {
  std::optional<Limit> share;  ///< without its value; nothing without common rounds
  Series peak_flops;           ///< as in Floor
};
/// `limits` are those of all cases of the group.
CaseLimit case_limit(const Track& track, const std::vector<LimitTrack>& limits);

}  // namespace headroom
