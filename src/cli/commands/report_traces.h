// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/commands/trace_progress.h"
#include "headroom/page/page.h"

namespace headroom::cli {

/// The section of a page about one trace, or about those of the ranks of one job: files, folders and patterns
/// as `headroom trace` takes them. Each file is read once. Throws Error: a file that cannot be read,
/// "interrupted".
PageSection traces_section(const std::vector<std::string>& operands, const TraceReading& reading);

}  // namespace headroom::cli
