// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace headroom
