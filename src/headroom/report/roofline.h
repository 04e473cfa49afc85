// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// What a device can reach: the bandwidth of one kind of traffic from one memory level, or the peak rate of
/// one dtype.
struct Roof {
  enum class Kind { kBandwidth, kPeak };
  Kind kind = Kind::kBandwidth;
  std::string what;    ///< "read", "write", "copy"; the dtype of a peak
  std::string level;   ///< "L1", "L2", "memory"; empty for a peak
  std::string device;  ///< "cpu"
  int threads = 0;
  double rate = 0;  ///< GB/s; for a peak GFLOP/s, or GOP/s for integers
  std::optional<Interval> interval;
  std::size_t samples = 0;
  std::optional<double> pages{};  ///< share of its memory in huge pages; empty if unknown
  std::string source;             ///< the limit it was measured as: "limit.read bytes=1048576 pattern=linear"
};

/// Returns the unit of Roof::rate: "GB/s", "GFLOP/s" or "GOP/s".
std::string unit_of(const Roof& roof);

/// Returns "L2 read, 2 threads" or "bf16 peak, 2 threads".
std::string name_of(const Roof& roof);

/// A case as a point in the plot.
struct RooflineCase {
  std::string name, experiment, backend, runner, dtype, device, caches;
  int threads = 0;
  double intensity = 0;              ///< FLOP/byte
  double gflops = 0;                 ///< 1e9 operations/s; the median
  std::string unit;                  ///< of gflops: "GFLOP/s", or "GOP/s" for integers
  std::optional<Interval> interval;  ///< of gflops
  double bandwidth = 0;              ///< GB/s, for the bytes used in intensity
  std::size_t samples = 0;
  std::optional<Limit> limit;  ///< measured for this case in the same rounds
  /// Bytes moved by the memory controllers per iteration, if counted and the inputs are in memory. The
  /// intensity is then of these bytes, as in the model's source; otherwise of the declared ones.
  struct CountedBytes {
    double bytes = 0, low = 0, high = 0;
    std::size_t passes = 0;
    double declared_intensity = 0;
  };
  std::optional<CountedBytes> counted{};
  std::optional<double> pages{};  ///< as Roof::pages
};

/// Returns the units of the cases: "GFLOP/s", "GOP/s", or "GFLOP/s, GOP/s".
std::string units_of(const std::vector<RooflineCase>& cases);

struct Roofline {
  std::vector<RooflineCase> cases;
  std::vector<Roof> roofs;                                    ///< bandwidths first; the fastest first
  std::vector<std::pair<std::string, std::string>> left_out;  ///< a case, and why it is not plotted
  /// counted_findings() of the cases, and roofs whose pages differ from a case's.
  std::vector<std::string> findings{};
};

/// Returns the source of operations and bytes: "declared" or "counted" for all cases, or "declared and
/// counted".
const char* source_of_bytes(const Roofline& roofline);
/// Returns source_of_bytes as a sentence.
std::string work_text(const Roofline& roofline);

/// Plots the cases of `records` under the measured limits: those run as cases (limit.read, limit.peak) in
/// `records` and `limits`, and those sampled with the cases. The fastest measurement of a roof counts. A
/// limit with a rotating (cold) working set belongs to memory; a hot one to the smallest level whose caches
/// of the threads hold it; from one to four times the last-level cache to neither. Drops roofs of a device or
/// thread count without cases. Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
Roofline roofline_of(const std::vector<Record>& records, const std::vector<Record>& limits = {});

/// Range of the plot, in FLOP/byte (x) and GFLOP/s (y).
struct RooflineFrame {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
};
RooflineFrame frame_of(const Roofline& roofline);

/// Returns the ends of a roof within `frame`. Bandwidths end at the highest peak; peaks start at the fastest
/// bandwidth.
std::pair<std::pair<double, double>, std::pair<double, double>> ends_of(const Roof& roof,
                                                                        const Roofline& roofline,
                                                                        const RooflineFrame& frame);

/// Returns for a terminal: the case furthest from its limit and the binding limits, the plot with a letter
/// for each case and a digit at the ends of each roof, tables of cases and roofs, and the cases left out.
/// `width`: of the terminal; 0 for no limit.
Sheet roofline_sheet(const Roofline& roofline, std::size_t width = 0);

/// For programs:
///
///     {"headroom_roofline": {"schema": 1},
///      "cases": [{"name", "backend", "runner", "dtype", "device", "caches", "threads", "flop_per_byte",
///                 "gflops", "low", "high", "n", "bandwidth_gb_s",
///                 "limit": {"name", "share", "low", "high", "unstable"} or null}],
///      "roofs": [{"name", "kind": "bandwidth" or "peak", "what", "level", "device", "threads", "rate",
///      "unit",
///                 "low", "high", "n", "source"}],
///      "left_out": [{"name", "reason"}]}
///
/// Numbers that there are not are null.
Json roofline_json(const Roofline& roofline);

}  // namespace headroom
