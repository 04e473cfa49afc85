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
  double copy = 0;      ///< read + written, at a mix of 1 : 1
  double peak = 0;      ///< FLOP/s
  double exchange = 0;  ///< per rank, sending and receiving at once
};

/// Minimum seconds of `traffic`: the maximum of the compute floor (flops / peak), the exchange floor
/// (exchanged / exchange) and the memory floor, where 2 min(read, write) bytes move at the copy rate and the
/// rest at the read or write rate. Known rates replace unknown memory rates; a floor without a rate is 0.
/// Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
double floor_seconds(const Traffic& traffic, const Rates& rates);

double memory_floor_seconds(const Traffic& traffic, const Rates& rates);
double compute_floor_seconds(const Traffic& traffic, const Rates& rates);
double exchange_floor_seconds(const Traffic& traffic, const Rates& rates);

/// Limit cases that could bound a case, from the first runner that offers each for the device: memory limits
/// of its working set and cache state in every access pattern, the peak of its dtype, and the ping-pong
/// latency. Hot data in one core's caches is tried with one thread too; rank jobs use the threads of the
/// first machine's ranks and add exchanges.
std::vector<LimitTrack> limit_candidates(const std::vector<RunnerOffer>& offers, const Track& bounded);

/// Decides by calibrated times. Keeps patterns within 15 % of the best; the peak at 1/8 of the binding floor
/// or if `needs_peak`; memory and exchanges at 1/50.
void drop_loose_candidates(std::vector<LimitTrack>& limits, const Work& work, bool needs_peak);

bool share_limits(const Track& one, const Track& other);
std::vector<LimitTrack> limits_of(const Track& bounded, const std::vector<LimitTrack>& limits);

/// Indices of limits that bound nothing: another pattern of the same resource, device and ranks is faster by
/// 3 % beyond the 99 % interval, as closer ones may change places in later processes.
std::vector<std::size_t> beaten_limits(const std::vector<LimitTrack>& limits);

/// Values per round, in ns per iteration, from the best pattern (by median) of each resource.
struct Floor {
  Series series;
  Series peak_flops;  ///< FLOP/s; empty if not sampled
  std::vector<LimitPart> parts;
};
/// Nothing without a sampled limit.
std::optional<Floor> floor_of(const std::vector<LimitTrack>& limits, const Work& work);

/// Ratio to the limits of the same rounds.
struct CaseLimit {
  std::optional<Limit> share;  ///< without Limit::value; nothing without common rounds
  Series peak_flops;
};
/// `limits`: of the group.
CaseLimit case_limit(const Track& track, const std::vector<LimitTrack>& limits);

}  // namespace headroom
