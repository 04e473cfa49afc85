// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// data/targets.toml, embedded.
extern const std::string_view kShippedTargets;

struct Target {
  std::string experiment;
  std::string metric;  ///< empty: the headline (only with kShareOfLimit)
  std::string dtype;   ///< empty: any
  std::string device;  ///< "cpu", "cuda", or part of the device name; with '*' and '?'
  enum class Kind { kValue, kShareOfLimit } kind = Kind::kValue;
  double value = 0;  ///< in the metric's unit, or a share of the limit
};

/// Reads a targets file:
///
///     [[target]]
///     experiment = "gemv"
///     metric = "memory_bandwidth(GB/s)"
///     dtype = "bfloat16"
///     device = "A100*40GB"
///     value = 990                # in the metric's unit; or: percent_of_limit = 80
///
/// Throws Error with `source`, line and column: not TOML, unknown or missing key, invalid value.
std::vector<Target> parse_targets(std::string_view text, const std::string& source);
std::vector<Target> read_targets(const std::filesystem::path& path);

std::vector<Target> shipped_targets();

struct TargetQuery {
  std::string experiment;
  std::string metric;
  std::string dtype;
  std::string device;
  std::string device_name;  ///< "NVIDIA A100-SXM4-40GB", "x86_64", "INTEL(R) XEON(R) ..."
};

/// The first match; put the user's targets first.
std::optional<Target> find_target(std::span<const Target> targets, const TargetQuery& query);

/// With the architecture and the CPU or GPU as device names.
TargetQuery target_query(const Record& record);

/// Sets metric.target, in the metric's unit, and metric.target_share of headline records.
void apply_targets(std::vector<Record>& records, std::span<const Target> targets);

enum class TargetVerdict {
  kNone,
  kReached,      ///< the whole interval meets the target
  kMissed,       ///< the whole interval misses the target
  kInconclusive  ///< the target is within the interval, there is no interval, or the result exceeds its limit
};

const char* name_of(TargetVerdict verdict);

/// Whether it exceeds the limit, by more than its interval if it has one.
bool is_above_limit(const Record& record);

/// Whether noise cannot explain the excess: the whole interval is more than 5 % above a stable limit on an
/// undisturbed machine, or more than four times any other limit. The declared bytes or FLOPs are then wrong.
bool is_miscounted(const Record& record);

/// Judges a share target by the paired ratio to the limit.
TargetVerdict target_verdict(const Record& record);

/// Judges the mean result by the mean target; half-widths add as for independent errors. Never missed if
/// every case reached its target; never reached if every case missed.
TargetVerdict mean_target_verdict(std::span<const Record* const> cases);

}  // namespace headroom
