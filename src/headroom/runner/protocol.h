// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/precision.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace headroom {

// For messages of runners and journals.

template <>
struct JsonCodec<Caches> {
  static Json write(Caches caches) { return caches == Caches::kCold; }
  static Caches read(const Json& json, const JsonPath& path) {
    return json_to<bool>(json, path) ? Caches::kCold : Caches::kHot;
  }
};

template <>
struct JsonNames<AxisType> {
  static constexpr std::array kChoices = kAxisTypes;
};

template <>
struct JsonMembers<CaseSpec> {
  static constexpr std::tuple kTable{
      required("experiment", &CaseSpec::experiment), required("axes", &CaseSpec::axes),
      required("backend", &CaseSpec::backend),       required("threads", &CaseSpec::threads).at_least(1),
      required("cold", &CaseSpec::caches),           required("seed", &CaseSpec::seed),
      sparse("variant", &CaseSpec::variant),         sparse("keep_wrong", &CaseSpec::keep_wrong),
      sparse("most_bytes", &CaseSpec::most_bytes),   sparse("types", &CaseSpec::types)};
};

/// Kinds are flags, as for axes.
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
      sparse("huge_pages", &CaseInfo::huge_pages),
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

template <>
struct JsonMembers<BlasLibrary> {
  static constexpr std::tuple kTable{required("name", &BlasLibrary::name),
                                     optional("version", &BlasLibrary::version),
                                     optional("file", &BlasLibrary::file)};
};

Json to_json(const BlasLibrary& blas);
/// Throws Error naming a mistyped member.
std::optional<BlasLibrary> blas_of_json(const Json& json);

/// Omits unknown members.
Json to_json(const DeviceDescription& device);
/// Throws Error naming a mistyped member.
DeviceDescription device_from_json(const Json& json);

/// Protocol between command line and runner: JSON, one message per line, over the socket numbered in
/// kSocketVariable. The runner greets with Hello, or with {"error": "reason"} if the machine lacks something
/// or its arguments are invalid. It answers each request with one reply, and with "ids" in Hello repeats the
/// request's "id".
///
///   {"do": "describe"}
///     -> {"experiments": [...]}, plus "devices": [...] other than the CPU, and "blas": {...} if known
///   {"do": "prepare", "case": 7, "spec": {...}}
///     -> {"outcome": "ready", "info": {...}}, or "skipped" / "failed" with a "reason"
///   {"do": "sample", "case": 7, "iterations": 100, "lead_in": 1}
///     -> {"elapsed_ns": ..., "noise": {...}}, or {"failed": "reason"}; plus "device": {...} from a driver,
///        and "columns": [...], one value per iteration for each "is_column" metric of "info", in that order
///   {"do": "count", "case": 7, "iterations": 100, "lead_in": 1}
///     -> {"counts": {"instructions": ...}} of all these untimed iterations, or {"uncounted": "reason"}
///   {"do": "trace", "case": 7, "file": "/full/path.json"}
///     -> {"traced": "/full/path.json"}, or {"untraced": "reason"}
///   {"do": "release", "case": 7, "conclude": true}
///     -> {"released": 7, "conclusion": {...}}, or {"released": 7} without "conclude", for a case that lacks
///        samples
///   {"do": "quit"}
///     Ends the runner, like a closed socket.
///
/// If the process cannot go on after a failure (Registry::end_where_lost_with), it answers {"error":
/// "reason"} and ends.
inline constexpr int kProtocolVersion = 1;
inline constexpr const char* kSocketVariable = "HEADROOM_FD";
inline constexpr std::uint64_t kTracedIterations = 1;

struct Hello {
  std::string name;  ///< "native" for headroom-native
  std::string version;
  int protocol = kProtocolVersion;
  bool traces = false;  ///< supports "trace"
  bool ids = false;     ///< repeats the "id"
  bool counts = false;  ///< supports "count", and an event can be counted
};

/// Absent members have their defaults.
struct ExperimentDescription {
  std::string name, summary, metric, device;
  std::vector<Axis> axes;
  std::vector<std::string> backends;
  bool is_limit = false;
  std::map<std::string, std::vector<std::string>> variants{};
  std::vector<std::string> also_metrics{};
  std::string model{};
  bool is_on_request = false;     ///< runs only if named
  bool each_rank_counts = false;  ///< else the slowest rank counts
  std::vector<int> threads{};     ///< empty: all CPUs
};

struct PrepareReply {
  Outcome outcome;
  CaseInfo info;
};

struct RankSample {
  std::int64_t pid = 0;
  double elapsed_ns = 0;
  std::vector<double> columns{};  ///< as in Sample
};

struct SampleReply {
  Sample sample;
  std::string failure;              ///< empty if sampled
  std::vector<RankSample> ranks{};  ///< of a rank job; `sample` is the slowest
};

struct CountReply {
  WorkCounts counts{};
  std::string failure{};  ///< empty if counted
};

ExperimentDescription describe(const Experiment& experiment);

inline constexpr std::size_t kMaxExperiments = 10'000;
inline constexpr std::size_t kMaxAxisPoints = 1'000'000;

/// Decoders throw Error naming a missing or mistyped member or an impossible number (unsound()).
Json to_json(const Hello& hello);
Json to_json(const ExperimentDescription& description);
Json to_json(const CaseSpec& spec);
Json to_json(const PrepareReply& reply);
Json to_json(const SampleReply& reply);
Json to_json(const CountReply& reply);
Json to_json(const Conclusion& conclusion);
Hello hello_from_json(const Json& json);
ExperimentDescription description_from_json(const Json& json);
/// Reply to "describe"; names must differ.
std::vector<ExperimentDescription> descriptions_from_json(const Json& reply);
CaseSpec case_spec_from_json(const Json& json);
PrepareReply prepare_reply_from_json(const Json& json);
SampleReply sample_reply_from_json(const Json& json);
CountReply count_reply_from_json(const Json& json);
/// Empty if absent.
Conclusion conclusion_from_json(const Json& json);

}  // namespace headroom
