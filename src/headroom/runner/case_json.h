// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <tuple>

#include "headroom/base/json_codec.h"
#include "headroom/base/precision.h"
#include "headroom/experiment/case_spec.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/work_counts.h"

namespace headroom {

// A case, what it says of itself, and its samples, as they stand in messages of runners and in journals.

template <>
struct JsonCodec<Caches> {
  static Json write(Caches caches) { return caches == Caches::kCold; }
  static Caches read(const Json& json, const JsonPath& path) {
    return json_to<bool>(json, path) ? Caches::kCold : Caches::kHot;
  }
};

template <>
struct JsonMembers<CaseSpec> {
  static constexpr std::tuple kTable{
      required("experiment", &CaseSpec::experiment), required("axes", &CaseSpec::axes),
      required("backend", &CaseSpec::backend),       required("threads", &CaseSpec::threads).at_least(1),
      required("cold", &CaseSpec::caches),           required("seed", &CaseSpec::seed),
      sparse("variant", &CaseSpec::variant),         sparse("keep_wrong", &CaseSpec::keep_wrong),
      sparse("most_bytes", &CaseSpec::most_bytes)};
};

/// Flags, as those of an axis.
template <>
struct JsonCodec<ReportedMetric> {
  using Kind = ReportedMetric::Kind;
  static Json write(const ReportedMetric& metric) {
    Json json{{"name", metric.name},
              {"unit", metric.unit},
              {"higher_is_better", metric.direction == Direction::kHigherIsBetter},
              {"amount", metric.amount},
              {"is_rate", metric.kind == Kind::kRate}};
    if (metric.kind == Kind::kColumn) json["is_column"] = true;
    return json;
  }
  static ReportedMetric read(const Json& json, const JsonPath& path) {
    const std::string where = path.text();
    const bool is_higher_better = json_bool(json, "higher_is_better", where);
    Kind kind = json_bool(json, "is_rate", where) ? Kind::kRate : Kind::kValue;
    if (json_member_or<bool>(json, "is_column", false, where)) kind = Kind::kColumn;
    return {json_string(json, "name", where), json_string(json, "unit", where),
            is_higher_better ? Direction::kHigherIsBetter : Direction::kLowerIsBetter, kind,
            json_number(json, "amount", where)};
  }
};

template <>
struct JsonNames<Precision> {
  static constexpr std::array kChoices = kPrecisions;
};

template <>
struct JsonMembers<CaseInfo> {
  static constexpr std::tuple kTable{
      required(
          "flops", [](auto& info) -> auto& { return info.work.flops; }),
      required(
          "bytes", [](auto& info) -> auto& { return info.work.bytes; }),
      required(
          "bytes_written", [](auto& info) -> auto& { return info.work.bytes_written; }),
      required(
          "dtype", [](auto& info) -> auto& { return info.work.dtype; }),
      sparse(
          "exchanged", [](auto& info) -> auto& { return info.work.exchanged; }),
      required("copies", &CaseInfo::copies).at_least(1),
      required("verified", &CaseInfo::verified),
      required("max_error", &CaseInfo::max_error),
      required("tolerance", &CaseInfo::tolerance),
      required("metrics", &CaseInfo::metrics),
      required("inputs", &CaseInfo::inputs),
      required("notes", &CaseInfo::notes),
      sparse("sums_in", &CaseInfo::sums_in),
      sparse("wrong", &CaseInfo::wrong)};
};

template <>
struct JsonMembers<SampleNoise> {
  static constexpr std::tuple kTable{
      required("steal_ms", &SampleNoise::steal_ms), required("switches", &SampleNoise::involuntary_switches),
      required("faults", &SampleNoise::page_faults), required("mhz", &SampleNoise::frequency_mhz)};
};

template <>
struct JsonMembers<DeviceNoise> {
  static constexpr std::tuple kTable{
      required("sm_mhz", &DeviceNoise::sm_mhz), required("memory_mhz", &DeviceNoise::memory_mhz),
      required("power_w", &DeviceNoise::power_w), required("temperature_c", &DeviceNoise::temperature_c),
      required("throttle", &DeviceNoise::throttle)};
};

template <>
struct JsonMembers<Sample> {
  static constexpr std::tuple kTable{required("elapsed_ns", &Sample::elapsed_ns),
                                     required("iterations", &Sample::iterations).at_least(1),
                                     required("noise", &Sample::noise), sparse("device", &Sample::device),
                                     sparse("columns", &Sample::columns)};
};

template <>
struct JsonMembers<WorkCounts> {
  static constexpr std::tuple kTable{sparse("instructions", &WorkCounts::instructions),
                                     sparse("cycles", &WorkCounts::cycles),
                                     sparse("cache_misses", &WorkCounts::cache_misses),
                                     sparse("memory_bytes", &WorkCounts::memory_bytes),
                                     sparse("memory_bytes_written", &WorkCounts::memory_bytes_written),
                                     sparse("background_bytes", &WorkCounts::background_bytes),
                                     sparse("share", &WorkCounts::share)};
};

}  // namespace headroom
