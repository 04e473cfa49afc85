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

/// Text of data/targets.toml, embedded at build time so that programs need no data directory.
extern const std::string_view kShippedTargets;

/// Expected performance of a case.
struct Target {
  std::string experiment;
  std::string metric;  ///< empty: the headline metric (only with kShareOfLimit)
  std::string dtype;   ///< empty: any; "bf16" equals "bfloat16"
  std::string device;  ///< "cpu", "cuda", or part of the device name; '*' and '?' are wildcards
  enum class Kind { kValue, kShareOfLimit } kind = Kind::kValue;
  double value = 0;  ///< in the metric's unit, or as a share of this machine's limit (0.8)
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
/// `source` names the text in errors. Throws Error with line and column: not TOML, a key that is unknown or
/// missing, a value of the wrong type or out of range.
std::vector<Target> parse_targets(std::string_view text, const std::string& source);
std::vector<Target> read_targets(const std::filesystem::path& path);

/// Returns the targets of data/targets.toml at build time.
std::vector<Target> shipped_targets();

/// The fields that select a target.
struct TargetQuery {
  std::string experiment;
  std::string metric;
  std::string dtype;
  std::string device;       ///< "cpu", "cuda"
  std::string device_name;  ///< any of its names: "NVIDIA A100-SXM4-40GB", "x86_64", "INTEL(R) XEON(R) ..."
};

/// Returns the first matching target. Put the user's targets before the shipped ones.
std::optional<Target> find_target(std::span<const Target> targets, const TargetQuery& query);

/// Returns the query for a record. Device names are the architecture and the CPU or GPU of its environment.
TargetQuery target_query(const Record& record);

/// Sets the matching target of each headline record: metric.target in the metric's unit, and
/// metric.target_share (0.8) if the target is a share of the limit. Records without a limit get no share
/// target.
void apply_targets(std::vector<Record>& records, std::span<const Target> targets);

enum class TargetVerdict {
  kNone,         ///< no target, or no measurement
  kReached,      ///< the whole interval meets the target
  kMissed,       ///< the whole interval misses the target
  kInconclusive  ///< the target is inside the interval, there is no interval, or the result exceeds its limit
};

/// "ok", "missed", "inconclusive"; "-" for none.
const char* name_of(TargetVerdict verdict);

/// Whether the result exceeds its limit by more than the interval, or at all if it has no interval.
bool is_above_limit(const Record& record);

/// Whether the result exceeds its limit by more than noise of the limit explains: the whole interval is more
/// than 5 % above a stable limit on an undisturbed machine, or more than four times any other limit. The
/// declared bytes or FLOPs are then wrong, and the number is worthless.
bool is_miscounted(const Record& record);

/// Judges a share target by the paired ratio to the limit, not by the metric.
TargetVerdict target_verdict(const Record& record);

/// Judges the mean of several cases that each have a target. Compares the mean of their results with the mean
/// of their targets; half-widths add as for independent errors. The mean is never missed if every case
/// reached its target, and never reached if every case missed it.
TargetVerdict mean_target_verdict(std::span<const Record* const> cases);

}  // namespace headroom
