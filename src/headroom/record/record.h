// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headroom/base/precision.h"
#include "headroom/record/environment.h"
#include "headroom/record/instrument.h"
#include "headroom/record/noise.h"
#include "headroom/record/note.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/modes.h"
#include "headroom/stats/round_ratio.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// Type of an axis value as declared, where its text does not tell it.
enum class AxisType {
  kAsWritten,  ///< what AxisValue reads in the text
  kText,       ///< text, though it may look like a number
  kReal        ///< a real number, though it may be whole
};
inline constexpr std::array kAxisTypes{AxisType::kAsWritten, AxisType::kText, AxisType::kReal};
/// "written", "text", "real".
constexpr const char* to_string(AxisType type) {
  return type == AxisType::kText ? "text" : type == AxisType::kReal ? "real" : "written";
}

/// An axis value with its type: a boolean, a whole number, a real number, a size in bytes, or text.
class AxisValue {
 public:
  /// A size in bytes, shown as "32 MiB".
  struct Size {
    std::int64_t bytes = 0;
    bool operator==(const Size&) const = default;
  };

  AxisValue() = default;
  /// Parses what a user wrote: a number if that is its shortest form ("4096", "0.25"), a boolean for "True"
  /// and "False", otherwise text ("int8", "007", "1e3"). text() always returns `written`.
  AxisValue(const std::string& written);
  AxisValue(const char* written) : AxisValue(std::string(written)) {}
  /// A value of a declared type. kReal that is no number is read as written.
  AxisValue(const std::string& text, AxisType type);
  AxisValue(Size size) : value_(size) {}
  AxisValue(std::same_as<bool> auto value) : value_(value) {}

  /// Returns the text that selects this value on the command line: "True" for a boolean. Sizes are exact:
  /// "1.5 MiB", but "1363148 B".
  std::string text() const;
  /// Whether this is text that looks like a number or a boolean: "0", "True".
  bool is_text_like_another() const;
  std::optional<bool> boolean() const;
  /// Returns the number, or a size in bytes.
  std::optional<double> number() const;
  /// Returns the whole number, or a size in bytes.
  std::optional<std::int64_t> integer() const;

  const auto& value() const { return value_; }
  /// Whole and real numbers are equal if their numbers are; otherwise values of different types differ.
  bool operator==(const AxisValue& other) const;

 private:
  std::variant<std::string, std::int64_t, double, Size, bool> value_;
};

/// Axis values of a case in the order declared by the experiment: {"D", 1024}, {"dtype", "int8"}.
using AxisValues = std::vector<std::pair<std::string, AxisValue>>;

using StringMap = std::map<std::string, std::string>;
using NumberMap = std::map<std::string, double>;
/// Axis values as text, as users write them and runners receive them: {"D", "1024"}, {"dtype", "int8"}.
using AxisTexts = std::vector<std::pair<std::string, std::string>>;

/// Unknown: a change is neither a regression nor an improvement.
enum class Direction { kLowerIsBetter, kHigherIsBetter, kUnknown };

/// Whether a case was measured. `reason` is empty if it was.
struct Outcome {
  enum class Kind { kMeasured, kSkipped, kFailed };
  Kind kind = Kind::kMeasured;
  std::string reason;
};

/// State of a device reported by its driver for one sample. Zero if not reported.
struct DeviceNoise {
  double sm_mhz = 0;           ///< multiprocessor clock at the end of the sample
  double memory_mhz = 0;       ///< memory clock at the end of the sample
  double power_w = 0;          ///< power of the whole board at the end of the sample
  double temperature_c = 0;    ///< of the chip, at the end of the sample
  std::uint32_t throttle = 0;  ///< ThrottleReason bits before or after the sample

  bool operator==(const DeviceNoise&) const = default;
};

/// Samples of one process, in the order measured. All columns have the same length, except that noise and
/// device may be empty.
struct ProcessSamples {
  std::int64_t pid = 0;
  std::uint64_t iterations = 0;  ///< per sample; each value is a time or rate per iteration
  std::size_t warmup = 0;      ///< number of leading values with a trend: kept, but not used in the estimate
  std::vector<double> values;  ///< in the metric's unit
  std::vector<std::uint32_t> rounds;  ///< round of each value; values of equal rounds are paired
  NoiseSeries noise;
  std::vector<DeviceNoise> device{};  ///< empty if no driver reported anything
};

/// A resource that bounds a case, used in one way.
struct LimitPart {
  std::string kind;        ///< "read", "write", "copy", "peak"
  std::int64_t bytes = 0;  ///< working set; 0 for a peak
  std::string pattern;     ///< access pattern ("linear"), or computation of a peak ("dot")
  std::string dtype;       ///< of a peak; empty otherwise
  int threads = 0;         ///< 0 if not applicable

  bool operator==(const LimitPart&) const = default;
};

/// What this machine can reach for the case, measured in the same rounds.
struct Limit {
  std::vector<LimitPart> parts;  ///< several if one phase follows another: read, then copy
  double value = 0;              ///< in the metric's unit; median over the rounds
  double fraction = 0;           ///< limit time / case time, 1 at the limit; median of the paired ratios
  std::optional<Interval> interval{};  ///< of the fraction
  bool unstable = false;               ///< quartiles of the limit are more than 10 % apart
  /// Quartiles of the fraction over single rounds: their spread, while `interval` is for the median. Nothing
  /// if the rounds are unknown.
  struct Rounds {
    std::size_t count = 0;
    double lower_quartile = 0, upper_quartile = 0;
  };
  std::optional<Rounds> rounds{};
};

/// Returns "read 32 MiB linear, 2 threads", "read 8 MiB linear + copy 24 MiB plain, 2 threads" or "peak bf16
/// dot".
std::string limit_name(const Limit& limit);

/// Ratio of the case's time to that of another case of the same run, paired by round.
struct RatioToOther {
  double ratio = 1;
  std::optional<Interval> interval{};  ///< nothing if there are too few pairs
  std::size_t pairs = 0;
  std::string other;  ///< "native@native": backend and runner; the title of a command
  /// Of the other, if it is otherwise the same case; else empty.
  std::string backend{}, runner{};
};

/// Result of one run of a case.
struct RunValue {
  double value = 0;           ///< in the metric's unit
  double fraction = 0;        ///< of the limit, as Limit::fraction; 0 without a limit
  double fraction_error = 0;  ///< half-width of the interval of its logarithm
};

/// One metric of one case: the fields of the PyTorch OSS benchmark database, schema v3, and the data needed
/// to judge the measurement.
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
    std::string mode;  ///< "inference", "training", or empty
    std::string dtype;
    StringMap extra_info;
  } benchmark;

  struct Model {
    std::string name;  ///< the experiment: "gemv"
    std::string type = "micro-benchmark";
    std::string backend;  ///< "native", "aten", ...
    std::vector<std::string> origins;
    StringMap extra_info;
  } model;

  struct Metric {
    std::string name;  ///< "latency", "memory_bandwidth(GB/s)", "flops_utilization", ...
    std::string unit;  ///< "us", "GB/s", "1"
    Direction direction = Direction::kLowerIsBetter;
    double value = 0;  ///< the median of the samples after warm-up
    std::optional<double> target;
    std::optional<double> target_share{};  ///< the target as a share of the limit, if given so
    bool headline = false;                 ///< whether tables show this metric for the case
    StringMap extra_info{};
    NumberMap numbers{};  ///< further quantities: "bytes" of a bucket, what a cache "saves" in `unit`
  } metric;

  Instrument instrument = Instrument::kRun;
  std::string tool;    ///< of an import: "hyperfine"; otherwise empty
  AxisValues axes;     ///< dtype included
  std::string device;  ///< "cpu", "cuda"
  std::string runner;  ///< label of the runner: "native", or its path if two labels are equal
  std::string caches;  ///< state of the inputs: "cold" or "hot"; empty if not applicable
  int threads = 0;
  Outcome outcome;
  std::vector<ProcessSamples> samples;
  std::optional<Interval> interval;  ///< of metric.value
  StopReason stop = StopReason::kNone;
  std::optional<Limit> limit;
  std::optional<RatioToOther>
      ratio;  ///< of the times, for any metric; nothing for the case that others are compared with
  std::optional<Look> look{};          ///< of a compared command: when its ratio was last evaluated
  Modes modes;                         ///< of a time: its groups, medians in the metric's unit
  double max_error = 0;                ///< largest error against the float64 reference, scaled as in verify()
  double error_bound = 0;              ///< allowed max_error; 0 if not verified
  std::optional<Precision> sums_in{};  ///< precision that error_bound assumes; empty: unknown
  bool verified = false;
  /// The answer is wrong (see outcome) but was timed anyway. The numbers are shown and never used.
  bool kept_wrong = false;
  double busy_cpus = 0;  ///< CPUs used by other programs before measuring; 0: negligible
  /// Share of the inputs and outputs that is in huge pages, of what can be.
  std::optional<double> huge_pages{};
  /// Of a rank job whose slowest rank counts: the rank that was slowest most often, and its share of samples.
  struct Slowest {
    std::size_t rank = 0;
    double share = 0;
  };
  std::optional<Slowest> slowest{};
  Notes notes;  ///< noise marks and warnings
  /// Results of the separate runs that join_duplicates() merged into this record; otherwise empty.
  std::vector<RunValue> runs{};
  std::shared_ptr<const Environment> environment;
};

/// Returns "gemv D=1024 dtype=int8": the name of the case, without the backend.
std::string case_name(const Record& record);

/// Returns a key that is equal for records of the same quantity: benchmark, model, backend, axes, dtype,
/// device, caches, threads and metric. `diff` matches by it. Ignores the order of the axes, and treats short
/// and PyTorch names of a dtype as equal.
std::string identity(const Record& record);

/// Returns the value of an axis; nullptr if the case has no such axis.
const AxisValue* axis(const Record& record, std::string_view name);
/// Returns AxisValue::text; empty if the case has no such axis.
std::string axis_text(const Record& record, std::string_view name);
/// Whether a value switches nothing on: false, empty, zero, "false", "off", "none", "auto" or "default".
/// Tools that gain a setting give it such a value where nobody set it.
bool is_neutral_setting(const AxisValue& value);
/// Returns AxisValue::integer; nothing if the case has no such axis or the value is not a whole number.
std::optional<std::int64_t> whole_axis(const Record& record, std::string_view name);

/// Returns the samples of a process after warm-up.
std::span<const double> steady(const ProcessSamples& process);
/// Returns the samples after warm-up, in the order measured, times `factor`. With rounds only if all samples
/// have one.
Series steady(const Record& record, double factor = 1);
/// Returns the values of steady(), and the number of values of each process that has any.
std::vector<double> steady_values(const Record& record, double factor = 1);
std::vector<std::size_t> steady_sizes(const Record& record);
/// Sets the value and interval from the steady samples; changes nothing if there are none.
void estimate(Record& record);
/// Returns the number of steady samples.
std::size_t sample_count(const Record& record);
/// Returns the median of the steady samples of each process (for a job: each rank); NaN for a process without
/// any.
std::vector<double> process_medians(const Record& record);

/// Whether any record has this outcome.
bool any_outcome(std::span<const Record> records, Outcome::Kind kind);

// Comparisons by identity() without building its text, for files of very many cases.

/// Equal if same_identity() is true.
std::size_t identity_hash(const Record& record);
/// Whether the identity() of both is equal.
bool same_identity(const Record& a, const Record& b);

/// As above without the metric: equal for all records of one case.
std::size_t case_hash(const Record& record);
bool same_case(const Record& a, const Record& b);

/// Returns benchmark.extra_info["arch"] if set; otherwise the name of the GPU for a GPU record, or the
/// architecture of the machine ("x86_64"). Empty if unknown.
std::string architecture(const Record& record);

/// Returns PyTorch's name of a dtype: "bfloat16" for "bf16", "float32" for "f32"; other names unchanged.
/// Files and targets of PyTorch's benchmarks use these names.
std::string torch_dtype(std::string_view dtype);

}  // namespace headroom
