// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "headroom/base/precision.h"
#include "headroom/record/environment.h"
#include "headroom/record/instrument.h"
#include "headroom/record/noise.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/modes.h"
#include "headroom/stats/round_ratio.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// Subject of a note.
enum class NoteKind {
  kText,               ///< the text is the sentence
  kSteal,              ///< stolen ms, total ms
  kPreempted,          ///< samples with involuntary switches, all samples
  kPageFaults,         ///< samples with page faults, all samples
  kCpuClock,           ///< lowest and highest MHz
  kDeviceClock,        ///< as kCpuClock
  kDeviceMemoryClock,  ///< as kCpuClock
  kThrottled,          ///< throttled samples, all samples; reasons
  kPlacement,          ///< lowest and highest core-to-core ns
  kWarmUp,
  kProcessesDiffer,
  kLimitUnstable,
  kAboveLimit,          ///< share of a stable limit
  kAboveUnstableLimit,  ///< share of an unstable limit
  kOtherPages,          ///< shares in huge pages of the case and its limit; the limit
  kTimeCap,
  kExactRounds,  ///< kMaxSamples was the goal, not a cap
  kBusy,         ///< busy CPUs, all CPUs; when, and evidence
  kQuota,        ///< s held up by a cgroup quota, total s
  kFailedRuns,   ///< failed runs, all runs, exit code or negative signal
};

struct Note {
  NoteKind kind = NoteKind::kText;
  std::array<double, 3> numbers{};
  std::string text{};

  Note() = default;
  Note(std::string sentence) : text(std::move(sentence)) {}
  Note(const char* sentence) : text(sentence) {}
  Note(NoteKind of, std::array<double, 3> its_numbers = {}, std::string its_text = {})
      : kind(of), numbers(its_numbers), text(std::move(its_text)) {}

  bool operator==(const Note&) const = default;
};

using Notes = std::vector<Note>;

inline bool has_note(const Notes& notes, NoteKind kind) {
  return std::ranges::find(notes, kind, &Note::kind) != notes.end();
}

/// "steal: the hypervisor took 40 ms of 400 ms".
std::string sentence(const Note& note);
std::vector<std::string> sentences(const Notes& notes);

enum class AxisType {
  kAsWritten,  ///< deduced from the text
  kText,       ///< even if it looks like a number
  kReal        ///< even if whole
};
inline constexpr std::array kAxisTypes{AxisType::kAsWritten, AxisType::kText, AxisType::kReal};
constexpr const char* to_string(AxisType type) {
  return type == AxisType::kText ? "text" : type == AxisType::kReal ? "real" : "written";
}

/// A boolean, number, size in bytes, or text.
class AxisValue {
 public:
  struct Size {
    std::int64_t bytes = 0;
    bool operator==(const Size&) const = default;
  };

  AxisValue() = default;
  /// Deduces the type: shortest-form number ("4096", "0.25"), "True" or "False", else text ("int8", "007",
  /// "1e3").
  AxisValue(const std::string& written);
  AxisValue(const char* written) : AxisValue(std::string(written)) {}
  /// kReal falls back to kAsWritten if `text` is not a number.
  AxisValue(const std::string& text, AxisType type);
  AxisValue(Size size) : value_(size) {}
  AxisValue(std::same_as<bool> auto value) : value_(value) {}

  /// As on the command line. Sizes are exact: "1.5 MiB", but "1363148 B".
  std::string text() const;
  /// Text that looks like a number or boolean.
  bool is_ambiguous_text() const;
  std::optional<bool> boolean() const;
  /// The number, or the size in bytes.
  std::optional<double> number() const;
  /// As number(), if whole.
  std::optional<std::int64_t> integer() const;

  const auto& value() const { return value_; }
  /// Numbers compare by value; other types differ.
  bool operator==(const AxisValue& other) const;

 private:
  std::variant<std::string, std::int64_t, double, Size, bool> value_;
};

/// In declaration order.
using AxisValues = std::vector<std::pair<std::string, AxisValue>>;

using StringMap = std::map<std::string, std::string>;
using NumberMap = std::map<std::string, double>;
/// As users write and runners receive them.
using AxisTexts = std::vector<std::pair<std::string, std::string>>;

/// kUnknown: a change is neither regression nor improvement.
enum class Direction { kLowerIsBetter, kHigherIsBetter, kUnknown };

/// `reason` is empty if measured.
struct Outcome {
  enum class Kind { kMeasured, kSkipped, kFailed };
  Kind kind = Kind::kMeasured;
  std::string reason;
};

/// State at the end of a sample, from the driver; 0 if not reported.
struct DeviceNoise {
  double sm_mhz = 0;
  double memory_mhz = 0;
  double power_w = 0;  ///< whole board
  double temperature_c = 0;
  std::uint32_t throttle = 0;  ///< ThrottleReason bits before or after it

  bool operator==(const DeviceNoise&) const = default;
};

/// Columns are in measured order, of equal lengths; noise and device may be empty.
struct ProcessSamples {
  std::int64_t pid = 0;
  std::uint64_t iterations = 0;       ///< per sample; values are per iteration
  std::size_t warmup = 0;             ///< leading values with a trend, kept but not estimated from
  std::vector<double> values;         ///< in the metric's unit
  std::vector<std::uint32_t> rounds;  ///< equal rounds are paired
  NoiseSeries noise;
  std::vector<DeviceNoise> device{};
};

struct LimitPart {
  std::string kind;        ///< "read", "write", "copy", "peak"
  std::int64_t bytes = 0;  ///< working set; 0 for a peak
  std::string pattern;     ///< access pattern, or computation of a peak
  std::string dtype;       ///< of a peak
  int threads = 0;

  bool operator==(const LimitPart&) const = default;
};

/// This machine's best for the case, from the same rounds.
struct Limit {
  std::vector<LimitPart> parts;        ///< one per phase: read, then copy
  double value = 0;                    ///< in the metric's unit
  double fraction = 0;                 ///< limit time / case time, 1 at the limit; median of paired ratios
  std::optional<Interval> interval{};  ///< of the fraction
  bool unstable = false;               ///< quartiles of the limit differ by more than 10 %
  /// Quartiles of the fraction; nothing if rounds are unknown.
  struct Rounds {
    std::size_t count = 0;
    double lower_quartile = 0, upper_quartile = 0;
  };
  std::optional<Rounds> rounds{};
};

/// "read 8 MiB linear + copy 24 MiB plain, 2 threads" or "peak bf16 dot".
std::string limit_name(const Limit& limit);

/// Time ratio to another case of the same run, paired by round.
struct RatioToOther {
  double ratio = 1;
  std::optional<Interval> interval{};
  std::size_t pairs = 0;
  std::string other;  ///< backend and runner "native@native", or a command's title
  /// The other case's, if only they differ; else empty.
  std::string backend{}, runner{};
};

struct RunValue {
  double value = 0;           ///< in the metric's unit
  double fraction = 0;        ///< as Limit::fraction; 0: no limit
  double fraction_error = 0;  ///< half-width of the logarithm's interval
};

/// One metric of one case: fields of the PyTorch OSS benchmark database, schema v3, and more.
struct Record {
  // Defined in record.cpp, to compile them once.
  Record();
  Record(const Record& other);
  Record(Record&& other) noexcept;
  Record& operator=(const Record& other);
  Record& operator=(Record&& other) noexcept;
  ~Record();

  struct Benchmark {
    std::string name = "headroom";
    std::string mode;
    std::string dtype;
    StringMap extra_info;
  } benchmark;

  struct Model {
    std::string name;  ///< such as "gemv"
    std::string type = "micro-benchmark";
    std::string backend;
    std::vector<std::string> origins;
    StringMap extra_info;
  } model;

  struct Metric {
    std::string name;  ///< "memory_bandwidth(GB/s)", ...
    std::string unit;  ///< "us", "GB/s", "1"
    Direction direction = Direction::kLowerIsBetter;
    double value = 0;  ///< median after warm-up
    std::optional<double> target;
    std::optional<double> target_share{};  ///< the target as a share of the limit
    bool headline = false;
    StringMap extra_info{};
    NumberMap numbers{};  ///< more, such as "bytes" of a bucket
  } metric;

  Instrument instrument = Instrument::kRun;
  std::string tool;  ///< of an import: "hyperfine"
  AxisValues axes;   ///< dtype included
  std::string device;
  std::string runner;  ///< label: "native", or the path if labels are equal
  std::string caches;  ///< "cold", "hot", or empty
  int threads = 0;
  Outcome outcome;
  std::vector<ProcessSamples> samples;
  std::optional<Interval> interval;
  StopReason stop = StopReason::kNone;
  std::optional<Limit> limit;
  std::optional<RatioToOther> ratio;   ///< of times; nothing for the baseline
  std::optional<Look> look{};          ///< of a compared command: its last evaluation
  Modes modes;                         ///< of a time, in the metric's unit
  double max_error = 0;                ///< against float64, scaled as in verify()
  double error_bound = 0;              ///< 0: not verified
  std::optional<Precision> sums_in{};  ///< accumulation dtype that error_bound assumes
  bool verified = false;
  /// Wrong result: shown, never used.
  bool kept_wrong = false;
  double busy_cpus = 0;  ///< used by other programs before measuring; 0: negligible
  /// Share of inputs and outputs.
  std::optional<double> huge_pages{};
  /// The most often slowest rank and its share of samples, if the slowest rank counts.
  struct Slowest {
    std::size_t rank = 0;
    double share = 0;
  };
  std::optional<Slowest> slowest{};
  Notes notes;
  /// Runs joined by join_duplicates(); else empty.
  std::vector<RunValue> runs{};
  std::shared_ptr<const Environment> environment;
};

/// "gemv D=1024 dtype=int8", without the backend.
std::string case_name(const Record& record);

/// A key of the measured quantity. Ignores axis order; short and PyTorch dtype names are equal.
std::string identity(const Record& record);

/// Null if absent.
const AxisValue* axis(const Record& record, std::string_view name);
/// Empty if absent.
std::string axis_text(const Record& record, std::string_view name);
/// Whether a value enables nothing (false, 0, "off", "auto", ...), as defaults of new settings do.
bool is_neutral_setting(const AxisValue& value);
/// Nothing if absent or not whole.
std::optional<std::int64_t> whole_axis(const Record& record, std::string_view name);

std::span<const double> steady(const ProcessSamples& process);
/// Samples after warm-up; has rounds only if all samples have one.
Series steady(const Record& record, double factor = 1);
/// Omits processes without steady values.
std::vector<double> steady_values(const Record& record, double factor = 1);
std::vector<std::size_t> steady_sizes(const Record& record);
/// Sets value and interval from the steady samples, if any.
void estimate(Record& record);
std::size_t sample_count(const Record& record);
/// Medians of the steady samples, by process or rank; NaN without any.
std::vector<double> process_medians(const Record& record);

bool any_outcome(std::span<const Record> records, Outcome::Kind kind);

// Like identity(), without building its text: for large files.

std::size_t identity_hash(const Record& record);
bool same_identity(const Record& a, const Record& b);

/// Ignores the metric.
std::size_t case_hash(const Record& record);
bool same_case(const Record& a, const Record& b);

/// For containers; the runner counts.
template <std::size_t (*kHash)(const Record&), bool (*kSame)(const Record&, const Record&)>
struct WithRunner {
  std::size_t operator()(const Record* record) const {
    return kHash(*record) ^ std::hash<std::string>()(record->runner);
  }
  bool operator()(const Record* a, const Record* b) const { return a->runner == b->runner && kSame(*a, *b); }
};
template <typename Value, typename Key = WithRunner<case_hash, same_case>>
using ByCase = std::unordered_map<const Record*, Value, Key, Key>;
template <typename Value>
using ByResult = ByCase<Value, WithRunner<identity_hash, same_identity>>;

/// Turns a record with a number beyond the bounds into a failed one without numbers. Its reason names number,
/// field and `where()`. Removes intervals beyond the bounds. NaN is a missing value.
void fail_if_unbounded(Record& record, const std::function<std::string()>& where);

/// benchmark.extra_info["arch"], else the GPU's name or the machine's architecture; may be empty.
std::string architecture(const Record& record);

/// "bfloat16" for "bf16"; other names unchanged.
std::string torch_dtype(std::string_view dtype);

}  // namespace headroom
