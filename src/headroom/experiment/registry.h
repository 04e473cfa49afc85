// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/experiment/experiment.h"

namespace headroom {

/// Empty or zero: unknown.
struct DeviceDescription {
  std::string name;
  std::string uuid;
  std::string pci_bus_id;  ///< "00000000:01:00.0"
  std::string driver;      ///< version: "580.95.05"
  std::string cuda;        ///< newest version that the driver supports: "13.0"
  std::string compute_capability;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;  ///< last-level cache
  std::int64_t multiprocessors = 0;
  std::int64_t memory_bus_bits = 0;
  double max_sm_mhz = 0;
  double max_memory_mhz = 0;
  double power_limit_w = 0;
  std::string ecc;  ///< "on" or "off"
  std::string mig;  ///< "on" or "off": whether the chip is split into instances
};

using DescribeDevices = std::function<std::vector<DeviceDescription>()>;

class Registry {
 public:
  /// Calls `run` once and writes a complete trace to `file`, or none. Throws Error.
  using Tracer = std::function<void(const std::string& file, const std::function<void()>& run)>;
  using Require = std::function<void()>;
  using Lost = std::function<std::string()>;
  /// Adds what the runner's command line requests. Throws Error.
  using TakeArguments = std::function<void(Registry&, const std::vector<std::string>& arguments)>;

  /// Throws std::logic_error if the name is taken. The reference stays valid.
  Experiment& add(std::string name, Experiment::Function run);
  /// Null if absent.
  const Experiment* find(std::string_view name) const;
  Experiment* find(std::string_view name);
  const std::deque<Experiment>& all() const { return experiments_; }

  /// `require` throws Error, with a remedy, if the machine lacks a requirement of every experiment. It runs
  /// before the runner greets; its message replaces the greeting.
  void require_with(Require require) { require_ = std::move(require); }
  void require() const {
    if (require_) require_();
  }

  /// After a failed case, `lost` returns why this process cannot run more; empty if it can. Otherwise the
  /// runner ends and its client starts another.
  void end_where_lost_with(Lost lost) { lost_ = std::move(lost); }
  std::string lost() const { return lost_ ? lost_() : std::string(); }

  /// For one call of a case; empty: not supported.
  void trace_with(Tracer tracer) { tracer_ = std::move(tracer); }
  const Tracer& tracer() const { return tracer_; }

  void describe_devices_with(DescribeDevices describe) { describe_devices_ = std::move(describe); }
  const DescribeDevices& describe_devices() const { return describe_devices_; }

  void describe_blas_with(DescribeBlas describe) { describe_blas_ = std::move(describe); }
  const DescribeBlas& describe_blas() const { return describe_blas_; }

  void take_arguments_with(TakeArguments take) { take_arguments_ = std::move(take); }
  /// Such as those of `headroom run --module`. Throws Error for arguments without a handler.
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

/// Returns the registry of HEADROOM_EXPERIMENT, which runners serve.
Registry& registry();

}  // namespace headroom

/// Registers `function` (void(headroom::State&)) under its name:
///   HEADROOM_EXPERIMENT(gemv).axis("D", {1024, 4096}).axis("dtype", {"f32", "bf16"});
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEADROOM_EXPERIMENT(function)                                              \
  [[maybe_unused]] static ::headroom::Experiment& headroom_experiment_##function = \
      ::headroom::registry().add(#function, &function)
// NOLINTEND(bugprone-macro-parentheses)
