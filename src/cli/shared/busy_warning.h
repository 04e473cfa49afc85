// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "headroom/machine/cpu_load.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// Looks at the CPUs of this process for a tenth of a second and says on standard error when other programs
/// leave too few of them for `threads` threads. Nothing where the machine is quiet. Call it before any runner
/// is at work.
std::optional<LoadWarning> warn_when_busy(int threads);

/// Puts it into each record, if there is one.
void note_busy(std::vector<Record>& records, const std::optional<LoadWarning>& warning);

}  // namespace headroom::cli
