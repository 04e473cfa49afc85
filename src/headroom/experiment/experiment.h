// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

struct Axis {
  enum class Kind {
    kInteger,  ///< any positive integer
    kText,     ///< only the listed values
    kFree,     ///< any text; the experiment rejects invalid values
    kWhole,    ///< any integer
    kReal      ///< any finite number
  };
  std::string name;
  Kind kind = Kind::kText;
  std::vector<std::string> values;
  std::vector<AxisType> types{};  ///< of the values; empty: all as written
};

AxisType axis_type(const Axis& axis, const std::string& text);

/// Canonical text of a value: "64" for "0064", "1" for "1.0".
std::string axis_text(const Axis& axis, const std::string& text);

/// "D=1024,4096", "D=1024-16384*2", "D=64-512+64", "dtype=int8".
struct AxisRequest {
  std::string name;
  std::vector<std::string> values;  ///< ranges expanded
};

/// Parses "name=values". Ranges: first-last*factor, first-last+step, or first-last (step 1), both ends
/// included. Throws Error: no '=', empty list, a range that never ends or exceeds 10,000 values.
AxisRequest parse_axis_request(std::string_view text);

bool accepts(const Axis& axis, std::string_view value);
/// "one of int8, bf16" or "a positive integer".
std::string valid_values(const Axis& axis);

/// Returns the accepted values of all requests for `axis` (canonical, distinct), or its defaults without a
/// request.
std::vector<std::string> select_values(const Axis& axis, std::span<const AxisRequest> requests);

class State;

/// Function to measure over axes. `run` is called once per case: it reads its axes from the State, sets up,
/// declares its work, verifies, and calls State::measure, which returns when the case is released.
class Experiment {
 public:
  using Function = std::function<void(State&)>;

  Experiment(std::string name, Function run) : name_(std::move(name)), run_(std::move(run)) {}

  Experiment& summary(std::string text);
  /// Accepts any positive integer.
  Experiment& axis(std::string name, std::initializer_list<long long> values);
  /// Accepts only these values.
  Experiment& axis(std::string name, std::initializer_list<const char*> values);
  Experiment& axis(Axis axis);
  /// Implementations to compare; default "native". State::backend() is the requested one.
  Experiment& backends(std::initializer_list<const char*> names);
  Experiment& backends(std::span<const std::string> names);
  /// Variants of `backend` (block sizes, prefetch distances). The scheduler samples all in rounds, once per
  /// case and machine, and keeps the fastest. State::variant() is the requested one; skip the case if it does
  /// not apply.
  Experiment& variants(const std::string& backend, std::vector<std::string> names);
  /// Headline metric of tables and targets: "memory_bandwidth(GB/s)", "flops_utilization", "latency", or one
  /// of State::rate or State::value. Default: memory_bandwidth(GB/s) if the work has bytes, else GFLOP/s
  /// (GOP/s for integer dtypes) if it has FLOPs, else latency.
  Experiment& metric(std::string name);
  /// Reported and compared with targets like the headline.
  Experiment& also_metrics(std::vector<std::string> names);
  /// Publisher's name of the model: the result is that of a model, not of a kernel.
  Experiment& model(std::string name);
  /// Runs only if named, as it loads long or needs much memory.
  Experiment& on_request();
  /// "cpu" (default), "cuda". Limits apply to cases of the same device.
  Experiment& device(std::string name);
  /// The experiment binds its threads; headroom does not pin a single thread.
  Experiment& places_itself();
  /// Default thread counts, a case for each in the same rounds. State::threads() is the requested one.
  /// Default: all CPUs.
  Experiment& threads(std::vector<int> counts);
  /// In a rank job every rank's time is a sample (grouped like processes), not only the slowest's.
  Experiment& each_rank_counts();
  /// Marks a limit of the machine: not run by default, never compared with another limit.
  Experiment& limit();

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<std::string>& backends() const { return backends_; }
  /// Lacks backends without variants.
  const std::map<std::string, std::vector<std::string>>& variants() const { return variants_; }
  const std::string& metric() const { return metric_; }
  const std::vector<std::string>& also_metrics() const { return also_metrics_; }
  const std::string& model() const { return model_; }
  const std::vector<int>& threads() const { return threads_; }
  bool is_each_rank_counting() const { return is_each_rank_counting_; }
  bool is_placing_itself() const { return is_placing_itself_; }
  bool is_on_request() const { return is_on_request_; }
  const std::string& device() const { return device_; }
  bool is_limit() const { return is_limit_; }
  const Function& function() const { return run_; }

 private:
  std::string name_;
  std::string summary_;
  std::vector<Axis> axes_;
  std::vector<std::string> backends_{"native"};
  std::map<std::string, std::vector<std::string>> variants_;
  std::vector<int> threads_;
  std::string metric_;
  std::vector<std::string> also_metrics_;
  std::string model_;
  std::string device_ = "cpu";
  bool is_limit_ = false;
  bool is_on_request_ = false;
  bool is_placing_itself_ = false;
  bool is_each_rank_counting_ = false;
  Function run_;
};

}  // namespace headroom
