// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/environment.h"
#include "headroom/record/formats.h"
#include "headroom/record/record.h"

namespace headroom {

inline Json low_of(const std::optional<Interval>& interval) {
  return interval ? Json(interval->low) : Json(nullptr);
}
inline Json high_of(const std::optional<Interval>& interval) {
  return interval ? Json(interval->high) : Json(nullptr);
}
inline Json interval_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->low}, {"high", interval->high}, {"confidence", interval->confidence}};
}

// `machines` and `dependencies` match `runners` and `dependencies` of the OSS benchmark database.

template <>
struct JsonMembers<Environment::Runner> {
  using R = Environment::Runner;
  static constexpr std::tuple kTable{optional("name", &R::name),
                                     optional("type", &R::type),
                                     optional("cpu_info", &R::cpu_info),
                                     optional("cpu_count", &R::cpu_count),
                                     optional("mem_info", &R::mem_info),
                                     optional("avail_mem_in_gb", &R::avail_mem_in_gb),
                                     optional("gpu_info", &R::gpu_info),
                                     optional("gpu_count", &R::gpu_count),
                                     optional("gpu_mem_info", &R::gpu_mem_info),
                                     optional("avail_gpu_mem_in_gb", &R::avail_gpu_mem_in_gb),
                                     optional("extra_info", &R::extra_info),
                                     sparse("cache_bytes", &R::cache_bytes),
                                     sparse("gpu_l2_bytes", &R::gpu_l2_bytes)};
};

template <>
struct JsonMembers<Environment::Dependency> {
  using D = Environment::Dependency;
  static constexpr std::tuple kTable{optional("repo", &D::repo), optional("branch", &D::branch),
                                     optional("sha", &D::sha), optional("version", &D::version),
                                     optional("extra_info", &D::extra_info)};
};

template <>
struct JsonCodec<Json> {
  static Json write(const Json& json) { return json; }
  static Json read(const Json& json, const JsonPath&) { return json; }
};

template <>
struct JsonNames<CounterScope> {
  static constexpr std::array kChoices{CounterScope::kUnknown, CounterScope::kAll, CounterScope::kUserSpace,
                                       CounterScope::kNone};
};

template <>
struct JsonMembers<DispatchExpectation> {
  using E = DispatchExpectation;
  static constexpr std::tuple kTable{required("op", &E::op),       required("metric", &E::metric),
                                     sparse("mesh", &E::mesh),     sparse("placements", &E::placements),
                                     sparse("shape", &E::shape),   sparse("dtype", &E::dtype),
                                     required("us", &E::value_us), required("tolerance", &E::tolerance),
                                     sparse("note", &E::note)};
};

template <>
struct JsonMembers<InstrumentOptions> {
  using O = InstrumentOptions;
  static constexpr std::tuple kTable{sparse("per_rank", &O::per_rank),
                                     sparse("margin", &O::margin),
                                     sparse("counters", &O::counters),
                                     sparse("no_counters", &O::no_counters),
                                     sparse("expectations", &O::expectations),
                                     sparse("cache_run", &O::cache_run),
                                     sparse("traces", &O::traces),
                                     sparse("writes_file", &O::writes_file)};
};

template <>
struct JsonMembers<Environment> {
  using E = Environment;
  static constexpr std::tuple kTable{optional("timestamp", &E::timestamp),
                                     optional("session", &E::session),
                                     optional("fingerprint", &E::fingerprint),
                                     optional("governor", &E::governor),
                                     optional("headroom_version", &E::headroom_version),
                                     optional("git_sha", &E::git_sha),
                                     optional("git_branch", &E::git_branch),
                                     optional("git_repo", &E::git_repo),
                                     optional("command", &E::command),
                                     optional("machines", &E::machines),
                                     optional("dependencies", &E::dependencies),
                                     optional("extra_info", &E::extra_info),
                                     optional("options", &E::options)};
};

/// Schemas before 4 have no options.
template <>
struct JsonCodec<Environment> {
  static Json write(const Environment& environment);
  static Environment read(const Json& json, const JsonPath& path);
};

/// {"kind": "steal", "stolen_ms": 40, "total_ms": 400}; before schema 4 only the sentence.
template <>
struct JsonCodec<Note> {
  static Json write(const Note& note);
  static Note read(const Json& json, const JsonPath& path);
  static bool take(JsonCursor& cursor, Note& note);
};

template <>
struct JsonNames<Outcome::Kind> {
  static constexpr std::array kChoices{Outcome::Kind::kMeasured, Outcome::Kind::kSkipped,
                                       Outcome::Kind::kFailed};
};

template <>
struct JsonMembers<Outcome> {
  static constexpr std::tuple kTable{required("kind", &Outcome::kind), optional("reason", &Outcome::reason)};
};

/// Reuses the memory of `column`. Null reads as NaN. Throws Error naming `path`.
void read_number_column(JsonReader& stream, std::vector<double>& column, const JsonPath& path);
/// Null is an error.
void read_number_column(JsonReader& stream, std::vector<std::uint32_t>& column, const JsonPath& path);

}  // namespace headroom

namespace headroom::record_json {

inline constexpr std::tuple kNoiseColumns{
    std::pair{"steal_ms", &SampleNoise::steal_ms},
    std::pair{"involuntary_switches", &SampleNoise::involuntary_switches},
    std::pair{"page_faults", &SampleNoise::page_faults},
    std::pair{"frequency_mhz", &SampleNoise::frequency_mhz},
    std::pair{"placement_ns", &SampleNoise::placement_ns}};
inline constexpr std::tuple kDeviceColumns{
    std::pair{"sm_mhz", &DeviceNoise::sm_mhz}, std::pair{"memory_mhz", &DeviceNoise::memory_mhz},
    std::pair{"power_w", &DeviceNoise::power_w}, std::pair{"temperature_c", &DeviceNoise::temperature_c},
    std::pair{"throttle", &DeviceNoise::throttle}};

/// Omits the environment.
Json write_record(const Record& record);

/// Returns {"groups": [{"median", "share"}], "changes", "in_stretches"}.
Json write_modes(const Modes& modes);

/// Everything except samples and environment.
class RecordMembers {
 public:
  /// `record` must be new.
  explicit RecordMembers(Record& record) : record_(record) {}

  /// Reads a plain member; else returns false and leaves the value for `rest` of finish().
  bool take(JsonReader& stream, std::string_view key);
  /// Reads the other members. Throws Error naming `path`.
  void finish(const Json& rest, const JsonPath& path);

 private:
  Record& record_;
  std::bitset<32> taken_;
  bool is_current_ = false;
  std::vector<std::string> sentences_;  ///< of notes
};

struct StreamedRecord {
  Record record;
  std::optional<std::size_t> environment;
};

StreamedRecord read_record(JsonReader& stream, const std::string& where);

/// Throws Error naming `source`.
std::vector<Record> read_records(JsonReader& stream, const std::string& source);

/// Reads straight into the columns. Throws Error naming `record`.
std::vector<ProcessSamples> read_samples(JsonReader& stream, const JsonPath& record);

}  // namespace headroom::record_json
