// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/commands/diff_options.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// The records that the options ask for: the metrics and cases named; without any metric named, one for each
/// case, backend and runner: its latency, else the one marked as headline, else its first.
std::vector<Record> selected(std::vector<Record> records, const DiffOptions& options);

}  // namespace headroom::cli
