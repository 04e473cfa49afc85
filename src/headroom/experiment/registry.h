// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/experiment/device_description.h"
#include "headroom/experiment/experiment.h"

namespace headroom {

/// The experiments of one executable, in the order in which they were added.
class Registry {
 public:
  /// Calls `run` once and writes a trace of what it did to `file`, whole or not at all. Throws Error.
  using Tracer = std::function<void(const std::string& file, const std::function<void()>& run)>;
  using Require = std::function<void()>;
  using Lost = std::function<std::string()>;
  /// Adds to the registry what the runner's command line asks for. Throws Error.
  using TakeArguments = std::function<void(Registry&, const std::vector<std::string>& arguments)>;

  /// Throws std::logic_error when the name is taken. The reference stays valid.
  Experiment& add(std::string name, Experiment::Function run);
  /// Null when there is none of that name.
  const Experiment* find(std::string_view name) const;
  Experiment* find(std::string_view name);
  const std::deque<Experiment>& all() const { return experiments_; }

  /// `require` throws Error, saying what is missing and what to do, where the machine lacks what every
  /// experiment here needs. Called before the runner greets; what it says takes the greeting's place.
  void require_with(Require require) { require_ = std::move(require); }
  /// Throws what require_with's function throws.
  void require() const {
    if (require_) require_();
  }

  /// `lost` answers, after a case failed, why no case of this process can be measured any more; empty: it
  /// can. The runner then ends, and who drives it starts another for what is left.
  void end_where_lost_with(Lost lost) { lost_ = std::move(lost); }
  std::string lost() const { return lost_ ? lost_() : std::string(); }

  /// How one call of a case is recorded; empty: this runner cannot.
  void trace_with(Tracer tracer) { tracer_ = std::move(tracer); }
  const Tracer& tracer() const { return tracer_; }

  /// The devices that experiments here run on, other than the CPU; empty: none is told.
  void describe_devices_with(DescribeDevices describe) { describe_devices_ = std::move(describe); }
  const DescribeDevices& describe_devices() const { return describe_devices_; }

  /// The BLAS that experiments here compute with, for the records; empty: none is told.
  void describe_blas_with(DescribeBlas describe) { describe_blas_ = std::move(describe); }
  const DescribeBlas& describe_blas() const { return describe_blas_; }

  void take_arguments_with(TakeArguments take) { take_arguments_ = std::move(take); }
  /// What a command line asks of this runner beside its experiments: `headroom run --module` does. Throws
  /// Error where there are arguments and nothing that takes them.
  void take_arguments(const std::vector<std::string>& arguments);

 private:
  std::deque<Experiment> experiments_;
  Require require_;
  Lost lost_;
  Tracer tracer_;
  DescribeDevices describe_devices_;
  DescribeBlas describe_blas_;
  TakeArguments take_arguments_;
};

/// The registry that HEADROOM_EXPERIMENT adds to, and that a runner serves.
Registry& registry();

}  // namespace headroom

/// Registers `function` (void(headroom::State&)) under its own name:
///   HEADROOM_EXPERIMENT(gemv).axis("D", {1024, 4096}).axis("dtype", {"f32", "bf16"});
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEADROOM_EXPERIMENT(function)                                              \
  [[maybe_unused]] static ::headroom::Experiment& headroom_experiment_##function = \
      ::headroom::registry().add(#function, &function)
// NOLINTEND(bugprone-macro-parentheses)
