// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// Bytes and FLOPs of one iteration.
struct Traffic {
  double bytes_read = 0;
  double bytes_written = 0;
  double flops = 0;
  double exchanged = 0;  ///< bytes that each rank of a job sends and receives
};

/// What the machine reaches, per second; 0 means not known.
struct Rates {
  double read = 0;      ///< bytes/s
  double write = 0;     ///< bytes/s
  double copy = 0;      ///< bytes read + bytes written per second at a mix of 1 : 1
  double peak = 0;      ///< FLOP/s
  double exchange = 0;  ///< bytes/s that each rank sends while it receives as many
};

/// Least time in seconds of `traffic` at `rates`: the largest of the compute floor (flops / peak), the
/// exchange floor (exchanged / exchange) and the memory floor, in which 2 min(read, write) bytes move at the
/// copy rate and the rest at the read or write rate. A rate of memory that is not known is taken from those
/// that are; 0 where none is known. Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
double floor_seconds(const Traffic& traffic, const Rates& rates);

double memory_floor_seconds(const Traffic& traffic, const Rates& rates);
double compute_floor_seconds(const Traffic& traffic, const Rates& rates);
double exchange_floor_seconds(const Traffic& traffic, const Rates& rates);

}  // namespace headroom
