// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Among a runner's extra_info: Environment::fingerprint, which the schema has no field for.
inline constexpr const char* kFingerprintKey = "fingerprint";

/// Reads rows of the PyTorch OSS benchmark database, schema v3: a list, one object, or JSON lines; ours with
/// the samples and intervals that the format keeps in strings. All of benchmark.extra_info but what names the
/// device and the runner tells cases apart, so it becomes axes; `inputs` do too. Several values are samples,
/// one is a number without any; values may be numbers or texts that hold one. Throws Error.
std::vector<Record> records_from_oss_v3(std::string_view text, const std::string& source);

}  // namespace headroom
