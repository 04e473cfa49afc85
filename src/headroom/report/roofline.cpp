// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "headroom/record/operation_rate.h"
#include "headroom/record/page_share.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/counted_work.h"
#include "headroom/report/roofline_level.h"

namespace headroom {
namespace {

constexpr std::string_view kLimitPrefix = "limit.";

/// Which share of its inputs and outputs lies in huge pages; empty where nobody knows.
std::string pages_of(const Record& record) {
  const auto found = record.model.extra_info.find(kHugePagesKey);
  return found == record.model.extra_info.end() ? "" : found->second;
}

Roof roof_of(const Record& record, Roof::Kind kind, std::string what, std::string level) {
  const int threads = counts_threads(record) ? record.threads : 0;
  Roof roof{kind, std::move(what), std::move(level), record.device, threads, 0, {}, 0, {}, {}};
  roof.samples = sample_count(record);
  return roof;
}

/// A case of limit.read and its like.
std::optional<Roof> measured_roof(const Record& record) {
  const std::string kind = record.model.name.substr(kLimitPrefix.size());
  Roof roof;
  if (kind == "peak") {
    if (!is_operation_rate(record.metric.name)) return std::nullopt;
    roof = roof_of(record, Roof::Kind::kPeak, axis_text(record, "dtype"), "");
  } else {
    const auto bytes = whole_axis(record, "bytes");
    if (!bytes || record.metric.name != "memory_bandwidth(GB/s)") return std::nullopt;
    roof = roof_of(record, Roof::Kind::kBandwidth, kind, roofline_level(record, static_cast<double>(*bytes)));
    if (roof.level.empty()) return std::nullopt;
  }
  roof.rate = record.metric.value;
  roof.interval = record.interval;
  roof.pages = pages_of(record);
  roof.source = case_name(record);
  return roof;
}

/// The limit that was sampled with a case, where one resource alone bounds it.
std::optional<Roof> attached_roof(const Record& record) {
  if (!record.limit || record.limit->parts.size() != 1) return std::nullopt;
  const LimitPart& part = record.limit->parts.front();
  Roof roof;
  if (part.kind == "peak") {
    if (!is_operation_rate(record.metric.name)) return std::nullopt;
    roof = roof_of(record, Roof::Kind::kPeak, part.dtype, "");
  } else {
    if (part.bytes <= 0 || record.metric.name != "memory_bandwidth(GB/s)") return std::nullopt;
    roof = roof_of(record, Roof::Kind::kBandwidth, part.kind,
                   roofline_level(record, static_cast<double>(part.bytes)));
    if (roof.level.empty()) return std::nullopt;
  }
  roof.rate = record.limit->value;
  roof.source = limit_name(*record.limit) + ", with " + case_name(record);
  return roof;
}

bool is_measured(const Record& record) {
  return record.outcome.kind == Outcome::Kind::kMeasured && std::isfinite(record.metric.value) &&
         record.metric.value > 0;
}

/// Keeps the fastest roof of each kind.
class RoofSet {
 public:
  void add(std::optional<Roof> roof) {
    if (!roof || !(roof->rate > 0) || !std::isfinite(roof->rate)) return;
    const auto key = std::tuple(roof->kind, roof->what, roof->level, roof->device, roof->threads);
    const auto [place, is_new] = roofs_.try_emplace(key, *roof);
    if (!is_new && place->second.rate < roof->rate) place->second = *roof;
  }

  /// Those that apply to one of `cases`, the fastest first.
  std::vector<Roof> over(const std::vector<RooflineCase>& cases) const {
    std::vector<Roof> roofs;
    for (const auto& [key, roof] : roofs_) {
      const bool applies = std::ranges::any_of(cases, [&roof = roof](const RooflineCase& one) {
        return one.device == roof.device && one.threads == roof.threads;
      });
      if (applies) roofs.push_back(roof);
    }
    std::ranges::stable_sort(roofs, [](const Roof& a, const Roof& b) {
      return std::pair(a.kind, -a.rate) < std::pair(b.kind, -b.rate);
    });
    return roofs;
  }

 private:
  std::map<std::tuple<Roof::Kind, std::string, std::string, std::string, int>, Roof> roofs_;
};

/// The records of one case that make it a point.
struct CaseParts {
  const Record* first = nullptr;
  const Record* flops = nullptr;
  const Record* bytes = nullptr;
  const Record* utilization = nullptr;
};

std::vector<CaseParts> parts_of(const std::vector<Record>& records) {
  std::map<std::string, std::size_t> places;
  std::vector<CaseParts> all;
  for (const Record& record : records) {
    if (record.model.name.starts_with(kLimitPrefix)) continue;
    const std::size_t place = places.try_emplace(row_key(record), all.size()).first->second;
    if (place == all.size()) all.push_back({&record, nullptr, nullptr, nullptr});
    if (!is_measured(record)) continue;
    if (is_operation_rate(record.metric.name)) all[place].flops = &record;
    if (record.metric.name == "memory_bandwidth(GB/s)") all[place].bytes = &record;
    if (record.metric.name == "flops_utilization") all[place].utilization = &record;
  }
  return all;
}

/// Why a case is no point.
std::string reason_of(const CaseParts& parts) {
  if (parts.first->outcome.kind != Outcome::Kind::kMeasured) return parts.first->outcome.reason;
  if (parts.flops == nullptr && parts.bytes == nullptr) return "it tells neither FLOPs nor bytes";
  return parts.flops == nullptr ? "it tells no FLOPs" : "it tells no bytes";
}

RooflineCase point_of(const CaseParts& parts) {
  const Record& flops = *parts.flops;
  RooflineCase point{case_text(flops),
                     flops.model.backend,
                     flops.runner,
                     flops.benchmark.dtype,
                     flops.device,
                     flops.caches,
                     counts_threads(flops) ? flops.threads : 0,
                     0,
                     0,
                     flops.metric.name,
                     {},
                     0,
                     0,
                     {}};
  point.gflops = flops.metric.value;
  point.bandwidth = parts.bytes->metric.value;
  point.intensity = point.gflops / point.bandwidth;
  point.interval = flops.interval;
  point.samples = sample_count(flops);
  point.limit = flops.limit;
  point.pages = pages_of(flops);
  return point;
}

/// Moves the point to where the bytes that were counted have it.
void take_counted(const std::optional<CountedWork>& work, RooflineCase& point) {
  if (!work || work->volume == nullptr || !work->from_memory || !(work->volume->metric.value > 0)) return;
  const auto [low, high] = counted_range(*work->volume);
  const double counted = work->volume->metric.value;
  point.counted = {counted, low, high, sample_count(*work->volume), point.intensity};
  point.bandwidth *= counted / work->declared_bytes;
  point.intensity = point.gflops / point.bandwidth;
}

/// The peak that a share of it implies.
std::optional<Roof> implied_peak(const CaseParts& parts) {
  if (parts.utilization == nullptr || parts.flops == nullptr) return std::nullopt;
  // int8 is the dtype of weights: the arithmetic, which the peak is of, may be in another.
  const std::string& dtype = parts.flops->benchmark.dtype;
  if (dtype.empty() || dtype == "int8") return std::nullopt;
  Roof roof = roof_of(*parts.flops, Roof::Kind::kPeak, dtype, "");
  roof.rate = parts.flops->metric.value / parts.utilization->metric.value;
  roof.source = "flops_utilization of " + case_name(*parts.flops);
  return roof;
}

/// Where a roof of memory is of huge pages and a case under it of small ones, or the other way round: one
/// sentence, of the first.
std::string page_finding(const Roofline& roofline) {
  for (const Roof& roof : roofline.roofs) {
    if (roof.pages.empty() || roof.level != "memory") continue;
    for (const RooflineCase& one : roofline.cases) {
      const bool applies = one.device == roof.device && one.threads == roof.threads && !one.pages.empty();
      if (!applies || (one.pages == kNoHugePages) == (roof.pages == kNoHugePages)) continue;
      return fmt::format(
          "{} {} has {} of its inputs and outputs in huge pages, the roof {} was measured with {}: "
          "headroom run limit.{} --huge-pages {} gives the roof of its pages",
          one.name, one.backend, one.pages, name_of(roof), roof.pages, roof.what,
          one.pages == kNoHugePages ? "no" : "yes");
    }
  }
  return {};
}

double highest_peak(const Roofline& roofline) {
  double highest = 0;
  for (const Roof& roof : roofline.roofs) {
    if (roof.kind == Roof::Kind::kPeak) highest = std::max(highest, roof.rate);
  }
  return highest;
}

double fastest_bandwidth(const Roofline& roofline) {
  double fastest = 0;
  for (const Roof& roof : roofline.roofs) {
    if (roof.kind == Roof::Kind::kBandwidth) fastest = std::max(fastest, roof.rate);
  }
  return fastest;
}

}  // namespace

std::string unit_of(const Roof& roof) {
  return roof.kind == Roof::Kind::kPeak ? operation_rate(roof.what) : "GB/s";
}

std::string units_of(const std::vector<RooflineCase>& cases) {
  std::set<std::string> units;
  for (const RooflineCase& one : cases) units.insert(one.unit);
  return units.empty() ? kFloatRate : fmt::format("{}", fmt::join(units, ", "));
}

std::string name_of(const Roof& roof) {
  std::string what = roof.kind == Roof::Kind::kPeak ? roof.what + " peak" : roof.level + " " + roof.what;
  if (roof.device.starts_with("cuda")) what = roof.device + " " + what;
  if (roof.threads == 0) return what;
  return fmt::format("{}, {} thread{}", what, roof.threads, roof.threads == 1 ? "" : "s");
}

Roofline roofline_of(const std::vector<Record>& records, const std::vector<Record>& limits) {
  Roofline roofline;
  RoofSet roofs;
  const std::vector<CountedWork> counted = counted_work(records);
  roofline.findings = counted_findings(counted);
  for (const CaseParts& parts : parts_of(records)) {
    if (parts.flops != nullptr && parts.bytes != nullptr) {
      roofline.cases.push_back(point_of(parts));
      take_counted(counted_work_of(counted, *parts.first), roofline.cases.back());
      roofs.add(implied_peak(parts));
    } else {
      const std::string backend = parts.first->model.backend;
      roofline.left_out.emplace_back(case_name(*parts.first) + (backend.empty() ? "" : " " + backend),
                                     reason_of(parts));
    }
  }
  for (const auto* source : {&records, &limits}) {
    for (const Record& record : *source) {
      if (!is_measured(record)) continue;
      roofs.add(record.model.name.starts_with(kLimitPrefix) ? measured_roof(record) : attached_roof(record));
    }
  }
  roofline.roofs = roofs.over(roofline.cases);
  if (std::string pages = page_finding(roofline); !pages.empty())
    roofline.findings.push_back(std::move(pages));
  return roofline;
}

const char* source_of_bytes(const Roofline& roofline) {
  const auto counted =
      std::ranges::count_if(roofline.cases, [](const RooflineCase& one) { return one.counted.has_value(); });
  if (counted == 0) return "declared";
  return static_cast<std::size_t>(counted) == roofline.cases.size() ? "counted" : "declared and counted";
}

std::string work_text(const Roofline& roofline) {
  const std::string source = source_of_bytes(roofline);
  if (source == "declared")
    return "Operations and bytes are those that the cases declare; no counters of the processor were read.";
  const std::string operations = "Operations are those that the cases declare; bytes ";
  if (source == "counted") return operations + "were counted by the memory controllers.";
  return operations + "were counted by the memory controllers where a case says so, else they are declared.";
}

RooflineFrame frame_of(const Roofline& roofline) {
  RooflineFrame frame{INFINITY, 0, INFINITY, 0};
  const double peak = highest_peak(roofline);
  for (const RooflineCase& one : roofline.cases) {
    frame.x_low = std::min(frame.x_low, one.intensity);
    frame.x_high = std::max(frame.x_high, one.intensity);
    frame.y_low = std::min(frame.y_low, one.gflops);
    frame.y_high = std::max(frame.y_high, one.gflops);
  }
  frame.x_low /= 4;
  for (const Roof& roof : roofline.roofs) {
    if (roof.kind == Roof::Kind::kPeak) continue;
    if (peak > 0) frame.x_high = std::max(frame.x_high, peak / roof.rate);
    frame.y_low = std::min(frame.y_low, roof.rate * frame.x_low);
  }
  frame.x_high *= 4;
  frame.y_low /= 1.5;
  frame.y_high =
      1.5 * std::max({frame.y_high, peak, peak > 0 ? 0 : fastest_bandwidth(roofline) * frame.x_high});
  return frame;
}

std::pair<std::pair<double, double>, std::pair<double, double>> ends_of(const Roof& roof,
                                                                        const Roofline& roofline,
                                                                        const RooflineFrame& frame) {
  if (roof.kind == Roof::Kind::kPeak) {
    const double fastest = fastest_bandwidth(roofline);
    const double from = fastest > 0 ? std::max(frame.x_low, roof.rate / fastest) : frame.x_low;
    return {{from, roof.rate}, {frame.x_high, roof.rate}};
  }
  const double peak = highest_peak(roofline);
  const double to = peak > 0 ? std::min(frame.x_high, peak / roof.rate) : frame.x_high;
  return {{frame.x_low, roof.rate * frame.x_low}, {to, roof.rate * to}};
}

}  // namespace headroom
