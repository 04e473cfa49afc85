// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/experiment/axis.h"

namespace headroom {

class State;

/// A thing to measure over axes. `run` is called once per case in a runner: it reads its axes from the State,
/// sets up, says its work, verifies, and calls State::measure, which returns when the case is released.
class Experiment {
 public:
  using Function = std::function<void(State&)>;

  Experiment(std::string name, Function run) : name_(std::move(name)), run_(std::move(run)) {}

  Experiment& summary(std::string text);
  /// An integer axis (any positive integer may be asked for on the command line).
  Experiment& axis(std::string name, std::initializer_list<long long> values);
  /// A text axis (only these values may be asked for).
  Experiment& axis(std::string name, std::initializer_list<const char*> values);
  Experiment& axis(Axis axis);
  /// Implementations to be compared; default one, "native". State::backend() says which is wanted.
  Experiment& backends(std::initializer_list<const char*> names);
  Experiment& backends(std::span<const std::string> names);
  /// Ways in which `backend` can do the same (block sizes, prefetch distances), none of them best everywhere:
  /// the scheduler samples all of them in rounds once for each case and machine, and keeps the fastest.
  /// State::variant() says which is wanted; one that does not apply to a case skips it.
  Experiment& variants(const std::string& backend, std::vector<std::string> names);
  /// The metric that tables show and targets are about: "memory_bandwidth(GB/s)", "flops_utilization",
  /// "latency", or one that State::rate or State::value gives. Default: memory_bandwidth(GB/s) where the work
  /// has bytes, else GFLOP/s (GOP/s where its dtype is one of integers) where it has FLOPs, else latency.
  Experiment& metric(std::string name);
  /// Metrics that stand beside it: each is reported, and held against its target, like it.
  Experiment& also_metrics(std::vector<std::string> names);
  /// The model that it runs, as its publisher calls it: the result is one of a model, not of a kernel.
  Experiment& model(std::string name);
  /// Not run by default, only where it is named: for what takes long to load or much memory.
  Experiment& on_request();
  /// Where the work happens: "cpu" (default), "cuda". Limits apply to cases of the same device.
  Experiment& device(std::string name);
  /// It chooses the CPUs of its threads itself: one that is run by one thread is not pinned for it.
  Experiment& places_itself();
  /// How many threads its cases take where nobody asks for others, a case each, in the same rounds: how it
  /// scales. State::threads() says which is wanted. Default: all CPUs.
  Experiment& threads(std::vector<int> counts);
  /// In a job of ranks what each measures counts by itself, not that of the slowest: the samples of a rank
  /// are those of a process.
  Experiment& each_rank_counts();
  /// A limit of the machine: not run by default, and never held against another limit.
  Experiment& limit();

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<std::string>& backends() const { return backends_; }
  /// By backend; a backend without any is not there.
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
