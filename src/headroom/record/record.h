// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/precision.h"
#include "headroom/record/axis_value.h"
#include "headroom/record/environment.h"
#include "headroom/record/noise_series.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/modes.h"
#include "headroom/stats/series.h"
#include "headroom/stats/stopping.h"

namespace headroom {

using StringMap = std::map<std::string, std::string>;
/// Axis values as a person writes them and a runner is told them: {"D", "1024"}, {"dtype", "int8"}.
using AxisTexts = std::vector<std::pair<std::string, std::string>>;

enum class Direction { kLowerIsBetter, kHigherIsBetter };

/// Whether a case gave numbers. `reason` is empty when it did.
struct Outcome {
  enum class Kind { kMeasured, kSkipped, kFailed };
  Kind kind = Kind::kMeasured;
  std::string reason;
};

/// What the driver of a device said about one sample. Zero where it does not say.
struct DeviceNoise {
  double sm_mhz = 0;           ///< clock of the multiprocessors when the sample was over
  double memory_mhz = 0;       ///< clock of the device's memory, likewise
  double power_w = 0;          ///< of the whole board, likewise
  double temperature_c = 0;    ///< of the chip, likewise
  std::uint32_t throttle = 0;  ///< what held the clocks down before or after the sample (throttle.h)

  bool operator==(const DeviceNoise&) const = default;
};

/// The samples of one process, in the order measured. The columns have the same length (noise and device may
/// be empty).
struct ProcessSamples {
  std::int64_t pid = 0;
  std::uint64_t iterations = 0;  ///< per sample; each value is time or rate per iteration
  std::size_t warmup = 0;        ///< leading values that a trend marks as warm-up: kept, not in the estimate
  std::vector<double> values;    ///< in the metric's unit
  std::vector<std::uint32_t> rounds;  ///< round of each value: equal rounds of equal processes are pairs
  NoiseSeries noise;
  std::vector<DeviceNoise> device{};  ///< empty where no driver of a device said anything
};

/// What bounds a case: a resource at work in one way.
struct LimitPart {
  std::string kind;        ///< "read", "write", "copy", "peak"
  std::int64_t bytes = 0;  ///< the working set; 0 for a peak
  std::string pattern;     ///< how it is walked over ("linear"), or the peak computed ("dot")
  std::string dtype;       ///< of a peak; empty otherwise
  int threads = 0;         ///< 0 where it has no meaning

  bool operator==(const LimitPart&) const = default;
};

/// What the machine could do for this case, measured in the same rounds.
struct Limit {
  std::vector<LimitPart> parts;  ///< several where one after the other binds: read, then copy
  double value = 0;              ///< the limit in the metric's unit (median over the rounds)
  double fraction = 0;           ///< limit time / case time: 1 is at the limit; median of the paired ratios
  std::optional<Interval> interval{};  ///< of the fraction
  bool unstable = false;               ///< the limit itself moved by more than 10 % between quartiles
  /// Of the fraction over single rounds: how far these lie apart, where the interval says how well their
  /// median is known. Nothing where no rounds are known.
  struct Rounds {
    std::size_t count = 0;
    double lower_quartile = 0, upper_quartile = 0;
  };
  std::optional<Rounds> rounds{};
};

/// "read 32 MiB linear, 2 threads", "read 8 MiB linear + copy 24 MiB plain, 2 threads", "peak bf16 dot".
std::string limit_name(const Limit& limit);

/// How the time of a case stands to that of another one of the same run, by the samples of the same rounds.
struct RatioToOther {
  double ratio = 1;
  std::optional<Interval> interval{};  ///< nothing where there are too few pairs
  std::size_t pairs = 0;
  std::string other;  ///< "native@native": backend and runner; of a command its title
};

/// What one run of a case came to.
struct RunValue {
  double value = 0;           ///< in the metric's unit
  double fraction = 0;        ///< of the limit, as Limit::fraction; 0 where there was none
  double fraction_error = 0;  ///< half the interval of its logarithm
};

/// One metric of one case: the fields of the PyTorch OSS benchmark database, schema v3, and what a
/// measurement needs to be judged. Everything that reads results reads this.
struct Record {
  // Defined once: they are too long to be compiled wherever a record is copied.
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
    double value = 0;  ///< the estimate: the median of the samples after warm-up
    std::optional<double> target;
    std::optional<double> target_share{};  ///< the target as a share of the limit, where it is one
    bool headline = false;                 ///< the metric that tables show for its case
    StringMap extra_info{};
  } metric;

  AxisValues axes;     ///< dtype included
  std::string device;  ///< "cpu", "cuda"
  std::string runner;  ///< label of the runner: "native", or its path where two have the same name
  std::string caches;  ///< "cold" or "hot", as the inputs were; empty where it has no meaning
  int threads = 0;
  Outcome outcome;
  std::vector<ProcessSamples> samples;
  std::optional<Interval> interval;  ///< of metric.value
  StopReason stop = StopReason::kNone;
  std::optional<Limit> limit;
  std::optional<RatioToOther>
      ratio;               ///< of the times, whatever the metric; nothing for the one compared with
  Modes modes;             ///< of a time: the groups it falls into, medians in the metric's unit
  double max_error = 0;    ///< largest error against the float64 reference, as verify() scales it
  double error_bound = 0;  ///< what it was held against; 0 where it was not
  std::optional<Precision> sums_in{};  ///< the precision that error_bound is for; empty: not known
  bool verified = false;
  /// The answer is wrong, as outcome says, and was timed all the same: the numbers are there to look at, and
  /// count for nothing.
  bool kept_wrong = false;
  double busy_cpus = 0;            ///< CPUs at work for other programs before measuring; 0: none that matters
  std::vector<std::string> notes;  ///< noise marks and warnings, each a sentence
  /// What separate runs of the case came to, where join_duplicates() made one record of them; else empty.
  std::vector<RunValue> runs{};
  std::shared_ptr<const Environment> environment;
};

/// "gemv D=1024 dtype=int8": what a person calls the case (no backend).
std::string case_name(const Record& record);

/// Equal for two records of the same quantity: benchmark, model, backend, axes, dtype, device, caches,
/// threads, metric. What `diff` matches by. The order of the axes does not count, nor whether a dtype has its
/// short name or PyTorch's.
std::string identity(const Record& record);

/// The value of an axis; nullptr where the case has no such axis.
const AxisValue* axis(const Record& record, std::string_view name);
/// AxisValue::text of it; empty where the case has no such axis.
std::string axis_text(const Record& record, std::string_view name);
/// AxisValue::integer of it; nothing where the case has no such axis, or it is no whole number.
std::optional<std::int64_t> whole_axis(const Record& record, std::string_view name);

/// The samples of a process after warm-up.
std::span<const double> steady(const ProcessSamples& process);
/// The samples after warm-up, in the order measured, times `factor`. Rounds only where all samples have one.
Series steady(const Record& record, double factor = 1);
/// Its values alone, and how many each process has that has any.
std::vector<double> steady_values(const Record& record, double factor = 1);
std::vector<std::size_t> steady_sizes(const Record& record);
/// Gives the record the median of its steady samples and its interval; leaves it as it is where it has none.
void estimate(Record& record);
/// How many these are.
std::size_t sample_count(const Record& record);
/// The median of the steady samples of each process (of a job: of each rank); not-a-number where one has
/// none.
std::vector<double> process_medians(const Record& record);

/// Whether any of them ended so.
bool any_outcome(std::span<const Record> records, Outcome::Kind kind);

}  // namespace headroom
