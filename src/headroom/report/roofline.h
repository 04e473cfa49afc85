// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// What a device reaches, whatever the program: bytes/s of one kind of traffic from one level of memory, or
/// operations/s of one dtype.
struct Roof {
  enum class Kind { kBandwidth, kPeak };
  Kind kind = Kind::kBandwidth;
  std::string what;    ///< "read", "write", "copy"; the dtype of a peak
  std::string level;   ///< "L1", "L2", "memory"; empty for a peak
  std::string device;  ///< "cpu"
  int threads = 0;
  double rate = 0;  ///< GB/s, or GFLOP/s (GOP/s for integers) for a peak
  std::optional<Interval> interval;
  std::size_t samples = 0;
  std::string pages{};  ///< the share of its memory in huge pages; empty where nobody knows
  std::string source;   ///< the limit it is from: "limit.read bytes=1048576 pattern=linear"
};

/// "GB/s", "GFLOP/s", "GOP/s": of Roof::rate.
std::string unit_of(const Roof& roof);

/// "L2 read, 2 threads", "bf16 peak, 2 threads".
std::string name_of(const Roof& roof);

/// A case as a point under the roofs.
struct RooflineCase {
  std::string name, backend, runner, dtype, device, caches;
  int threads = 0;
  double intensity = 0;              ///< FLOP/byte
  double gflops = 0;                 ///< 1e9 operations/s: the median
  std::string unit;                  ///< of gflops: "GFLOP/s", or "GOP/s" where they are on integers
  std::optional<Interval> interval;  ///< of gflops
  double bandwidth = 0;              ///< GB/s, of the bytes that intensity is of
  std::size_t samples = 0;
  std::optional<Limit> limit;  ///< of this very case, from the same rounds
  /// The bytes of an iteration that the memory controllers moved, where they counted them and the inputs lie
  /// in memory: then intensity is of these, as the source of the model has it, else of the declared ones.
  struct CountedBytes {
    double bytes = 0, low = 0, high = 0;
    std::size_t passes = 0;
    double declared_intensity = 0;
  };
  std::optional<CountedBytes> counted{};
  std::string pages{};  ///< as Roof::pages
};

/// Those of the cases: "GFLOP/s", "GOP/s", or "GFLOP/s, GOP/s".
std::string units_of(const std::vector<RooflineCase>& cases);

struct Roofline {
  std::vector<RooflineCase> cases;
  std::vector<Roof> roofs;                                    ///< bandwidths first, the fastest first
  std::vector<std::pair<std::string, std::string>> left_out;  ///< a case, and why it is no point
  /// counted_findings() of the cases, and where a roof is of other pages than a case.
  std::vector<std::string> findings{};
};

/// Where operations and bytes are from: "declared" by all cases, "counted" in all, or "declared and counted".
const char* source_of_bytes(const Roofline& roofline);
/// The same as a sentence.
std::string work_text(const Roofline& roofline);

/// The cases of `records` under the roofs that the limits say: those of `records` and of `limits` that were
/// run as cases (limit.read, limit.peak), and those that were sampled with the cases. Of the same roof the
/// fastest counts. A limit of a working set that rotates (cold) is one of memory; of a hot one, of the
/// smallest level whose caches of the threads hold it, and between one and four times the last-level cache
/// it is neither. Roofs of a device or a number of threads that no case has are dropped.
/// Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
Roofline roofline_of(const std::vector<Record>& records, const std::vector<Record>& limits = {});

/// The least and the largest value that a plot shows, in FLOP/byte (x) and GFLOP/s (y).
struct RooflineFrame {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
};
RooflineFrame frame_of(const Roofline& roofline);

/// The ends of a roof within `frame`: bandwidths rise up to the highest peak, peaks begin where they meet the
/// fastest bandwidth.
std::pair<std::pair<double, double>, std::pair<double, double>> ends_of(const Roof& roof,
                                                                        const Roofline& roofline,
                                                                        const RooflineFrame& frame);

}  // namespace headroom
