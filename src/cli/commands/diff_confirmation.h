// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/compare/comparison.h"
#include "headroom/compare/verdict.h"

namespace headroom::cli {

/// Measures each regression once more before it is said. `command` is a `headroom run` of the old and the new
/// build, interleaved ("headroom run --runner OLD --runner NEW"); it is started for each flagged case with
/// the case's name, axes, backend and caches, and --json, added. A regression that the rerun does not show,
/// by the same rule, becomes inconclusive. Returns a sentence about each case that was rerun. Throws Error:
/// the command cannot be started, or gives no records of the case from two runners.
std::vector<std::string> confirm_regressions(std::span<Comparison> comparisons, const JudgeRule& rule,
                                             const std::string& command);

}  // namespace headroom::cli
