// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Bandwidth of one kind of traffic from a memory level, or peak of a dtype.
struct Roof {
  enum class Kind { kBandwidth, kPeak };
  Kind kind = Kind::kBandwidth;
  std::string what;   ///< "read", "write", "copy"; the dtype of a peak
  std::string level;  ///< "L1", "L2", "memory"; empty for a peak
  std::string device;
  int threads = 0;
  double rate = 0;  ///< GB/s, GFLOP/s or GOP/s
  std::optional<Interval> interval;
  std::size_t samples = 0;
  std::optional<double> pages{};  ///< share in huge pages
  std::string source;             ///< measured limit: "limit.read bytes=1048576 pattern=linear"
};

std::string unit_of(const Roof& roof);

/// "L2 read, 2 threads" or "bf16 peak, 2 threads".
std::string name_of(const Roof& roof);

struct RooflineCase {
  std::string name, experiment, backend, runner, dtype, device, caches;
  int threads = 0;
  double intensity = 0;  ///< FLOP/byte
  double gflops = 0;     ///< median
  std::string unit;      ///< "GFLOP/s" or "GOP/s"
  std::optional<Interval> interval;
  double bandwidth = 0;  ///< GB/s, of the bytes in `intensity`
  std::size_t samples = 0;
  std::optional<Limit> limit;  ///< measured in the same rounds
  /// Bytes moved by the memory controllers per iteration, if counted and the inputs are in memory.
  /// `intensity` then uses them.
  struct CountedBytes {
    double bytes = 0, low = 0, high = 0;
    std::size_t passes = 0;
    double declared_intensity = 0;
  };
  std::optional<CountedBytes> counted{};
  std::optional<double> pages{};
};

std::string units_of(const std::vector<RooflineCase>& cases);

struct Roofline {
  std::vector<RooflineCase> cases;
  std::vector<Roof> roofs;                                    ///< bandwidths first, fastest first
  std::vector<std::pair<std::string, std::string>> left_out;  ///< case and reason
  std::vector<std::string> findings{};
};

/// "declared", "counted" or "declared and counted".
const char* source_of_bytes(const Roofline& roofline);
std::string work_text(const Roofline& roofline);

/// Cases under the measured limits: limit.read and limit.peak in `records` and `limits`, and those sampled
/// with the cases; the fastest of each roof counts. A rotating (cold) limit belongs to memory; a hot one to
/// the smallest level whose caches hold it, none from one to four times the last-level cache. Drops roofs of
/// a device or thread count without cases. Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4),
/// 2009.
Roofline roofline_of(const std::vector<Record>& records, const std::vector<Record>& limits = {});

/// FLOP/byte (x), GFLOP/s (y).
struct RooflineFrame {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
};
RooflineFrame frame_of(const Roofline& roofline);

/// Bandwidths end at the highest peak; peaks start at the fastest bandwidth.
std::pair<std::pair<double, double>, std::pair<double, double>> ends_of(const Roof& roof,
                                                                        const Roofline& roofline,
                                                                        const RooflineFrame& frame);

/// `width`: the terminal's; 0: no limit.
View roofline_view(const Roofline& roofline, std::size_t width = 0);

/// Missing numbers are null:
///
///     {"headroom_roofline": {"schema": 1},
///      "cases": [{"name", "backend", "runner", "dtype", "device", "caches", "threads", "flop_per_byte",
///                 "gflops", "low", "high", "n", "bandwidth_gb_s",
///                 "limit": {"name", "share", "low", "high", "unstable"} or null}],
///      "roofs": [{"name", "kind": "bandwidth" or "peak", "what", "level", "device", "threads", "rate",
///                 "unit", "low", "high", "n", "source"}],
///      "left_out": [{"name", "reason"}]}
Json roofline_json(const Roofline& roofline);

/// Control characters become spaces.
std::string xml_text(std::string_view text);

/// Upper bound in pixels for common fonts, from Verdana, the widest.
double svg_text_width(std::string_view text, double font_size);

/// Wraps to `room` pixels, within words if necessary.
std::vector<std::string> svg_lines(std::string_view text, double max_width, double font_size);

struct SvgBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool overlaps(const SvgBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

SvgBox svg_text_box(double x, double y, std::string_view text, double font_size);

/// Self-contained; fits its viewBox in common fonts; for light and dark backgrounds.
std::string roofline_svg(const Roofline& roofline, const std::string& title);

}  // namespace headroom
