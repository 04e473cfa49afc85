// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// The file that hyperfine's --export-json writes, for the scripts that read it: one result for each case
/// that has a latency with samples, in seconds, warm-up included as hyperfine has it. "user" and "system" are
/// means, "memory_usage_byte" and "exit_codes" one value a run (null: ended by a signal), "parameters" the
/// axes. Throws Error naming `source`, the file to be written, where no case has such a latency.
std::string hyperfine_json(const std::vector<Record>& records, const std::string& source);

}  // namespace headroom
