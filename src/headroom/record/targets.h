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

/// What a case is expected to reach.
struct Target {
  std::string experiment;
  std::string metric;  ///< empty: the headline metric, whichever it is (only with kShareOfLimit)
  std::string dtype;   ///< empty: any; "bf16" and "bfloat16" are the same
  std::string
      device;  ///< "cpu", "cuda", or a part of the name of the device; '*' and '?' stand for any characters
  enum class Kind { kValue, kShareOfLimit } kind = Kind::kValue;
  double value = 0;  ///< in the metric's unit, or as a share of the limit of this machine (0.8)
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

/// The targets that come with headroom (data/targets.toml at the time of the build).
std::vector<Target> shipped_targets();

/// What a target is looked up by.
struct TargetQuery {
  std::string experiment;
  std::string metric;
  std::string dtype;
  std::string device;  ///< "cpu", "cuda"
  std::string
      device_name;  ///< "NVIDIA A100-SXM4-40GB", "x86_64", "INTEL(R) XEON(R) ...": any name it goes by
};

/// The first target in the list that fits: put the user's before the shipped ones.
std::optional<Target> find_target(std::span<const Target> targets, const TargetQuery& query);

/// The query for a record: its device goes by the architecture and the CPU or GPU of its environment.
TargetQuery target_query(const Record& record);

}  // namespace headroom
