// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "headroom/trace/readers/event_rewriter.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {

/// Reads a trace as read() does, and gives its events and members to the sink instead of making columns. What
/// comes back has no events, but all that is known of the file.
Trace rewrite(const std::filesystem::path& path, const readers::RewriteSink& sink,
              const ReadOptions& options);

}  // namespace headroom::trace
