// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/machine_sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/operation_rate.h"
#include "headroom/report/bandwidth_plot.h"

namespace headroom::cli {
namespace {

struct Bandwidth {
  const char* limit;
  const char* title;
};
constexpr Bandwidth kBandwidths[] = {
    {"read", "read"}, {"write", "write"}, {"zero_fill", "zero fill"}, {"copy", "copy"}};

std::string cell(const std::vector<SweepPoint>& points, const std::string& limit, int threads,
                 std::int64_t bytes, const std::string& dtype) {
  for (const SweepPoint& point : points) {
    if (point.limit == limit && point.threads == threads && point.bytes == bytes && point.dtype == dtype) {
      const std::string spread = point.spread ? format_percent(*point.spread) : "?";
      return fmt::format("{} ±{} {}", format_number(point.rate), spread, point.pattern);
    }
  }
  return "-";
}

/// The columns of one number of threads; a GPU has no such number.
std::string threads_title(const std::string& before, int threads, bool on_cpu) {
  if (!on_cpu) return before.empty() ? "rate" : before;
  const std::string count = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
  return before.empty() ? count : before + ", " + count;
}

struct SweepAxes {
  std::set<int> threads;
  std::set<std::int64_t> sizes;
  std::set<std::string> dtypes;
};

SweepAxes axes_of(const std::vector<SweepPoint>& points) {
  SweepAxes axes;
  for (const SweepPoint& point : points) {
    axes.threads.insert(point.threads);
    if (point.bytes > 0) axes.sizes.insert(point.bytes);
    if (!point.dtype.empty()) axes.dtypes.insert(point.dtype);
  }
  return axes;
}

void add_tables(Sheet& sheet, const std::vector<SweepPoint>& points, const std::string& gpu) {
  const SweepAxes axes = axes_of(points);
  const bool on_cpu = gpu.empty();
  std::vector<Bandwidth> measured;
  std::ranges::copy_if(kBandwidths, std::back_inserter(measured), [&](const Bandwidth& bandwidth) {
    return std::ranges::find(points, bandwidth.limit, &SweepPoint::limit) != points.end();
  });
  std::vector<Table::Column> columns{{"working set", Align::kRight}};
  std::vector<Table::Column> peak_columns{{"peak", Align::kLeft}};
  for (const int count : axes.threads) {
    for (const Bandwidth& bandwidth : measured)
      columns.push_back({threads_title(bandwidth.title, count, on_cpu)});
    peak_columns.push_back({threads_title("", count, on_cpu)});
  }
  Table bandwidth(columns), peaks(peak_columns);
  for (const std::int64_t bytes : axes.sizes) {
    std::vector<std::string> row{format_bytes(static_cast<double>(bytes))};
    for (const int count : axes.threads) {
      for (const Bandwidth& one : measured) row.push_back(cell(points, one.limit, count, bytes, ""));
    }
    bandwidth.row(row);
  }
  for (const std::string& dtype : axes.dtypes) {
    std::vector<std::string> row{dtype};
    for (const int count : axes.threads) row.push_back(cell(points, "peak", count, 0, dtype));
    peaks.row(row);
  }
  const std::string of = on_cpu ? "" : gpu + ": ";
  sheet
      .title(of +
             "bandwidth in GB/s: median, half-width of its 95 % interval (? too few samples), best access "
             "pattern")
      .table(std::move(bandwidth))
      .title(of + "peaks in GFLOP/s (GOP/s for integers): the best instruction of " +
             (on_cpu ? "this CPU" : "this GPU"))
      .table(std::move(peaks));
}

std::string plot(const std::vector<SweepPoint>& points, bool on_cpu) {
  std::vector<PlotLine> lines;
  for (const SweepPoint& point : points) {
    if (point.bytes == 0) continue;
    const std::string name = on_cpu ? fmt::format("{} {}t", point.limit, point.threads) : point.limit;
    auto line = std::ranges::find(lines, name, &PlotLine::name);
    if (line == lines.end()) line = lines.insert(lines.end(), PlotLine{name, {}});
    line->points.emplace_back(static_cast<double>(point.bytes), point.rate);
  }
  return lines.empty() ? "" : line_plot(lines);
}

std::string rate_of(const SweepPoint& point, const char* unit) {
  return fmt::format("{} {} ±{}", format_number(point.rate), unit,
                     point.spread ? format_percent(*point.spread) : "?");
}

/// What the most threads read of the largest working set, and the highest peak.
void answer_device(Sheet& sheet, const std::vector<SweepPoint>& points, const std::string& device) {
  const SweepPoint *memory = nullptr, *peak = nullptr;
  for (const SweepPoint& point : points) {
    const bool is_larger = memory == nullptr || point.bytes > memory->bytes ||
                           (point.bytes == memory->bytes && point.threads > memory->threads);
    if (point.limit == "read" && is_larger) memory = &point;
    if (point.limit == "peak" && (peak == nullptr || point.rate > peak->rate)) peak = &point;
  }
  std::vector<std::string> parts;
  if (memory != nullptr) {
    parts.push_back(fmt::format("reads {} at {}", format_bytes(static_cast<double>(memory->bytes)),
                                rate_of(*memory, "GB/s")));
  }
  if (peak != nullptr) {
    parts.push_back("computes at most " + rate_of(*peak, operation_rate(peak->dtype)) + " in " + peak->dtype);
  }
  if (!parts.empty()) sheet.answer(device + " " + join(parts, ", "));
}

}  // namespace

Sheet sweep_sheet(const std::vector<SweepPoint>& points, const std::string& gpu) {
  std::vector<std::string> devices;
  for (const SweepPoint& point : points) {
    if (std::ranges::find(devices, point.device) == devices.end()) devices.push_back(point.device);
  }
  if (devices.empty()) devices.emplace_back("cpu");
  Sheet sheet;
  for (const std::string& device : devices) {
    std::vector<SweepPoint> own;
    std::ranges::copy_if(points, std::back_inserter(own),
                         [&](const SweepPoint& point) { return point.device == device; });
    const bool on_cpu = device == "cpu";
    const std::string name = on_cpu ? "" : gpu.empty() ? device : gpu;
    answer_device(sheet, own, on_cpu ? "this CPU" : name);
    add_tables(sheet, own, name);
    sheet.drawing(plot(own, on_cpu));
  }
  return sheet;
}

}  // namespace headroom::cli
