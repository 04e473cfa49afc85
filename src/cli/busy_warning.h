// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::cli {

/// Looks at the CPUs of this process for a tenth of a second and says on standard error when other programs
/// leave too few of them for `threads` threads. Returns the sentence for the notes of the records ("busy:
/// ..."), empty where the machine is quiet. Call it before any runner is at work.
std::string warn_when_busy(int threads);

/// Adds that sentence to the notes of each record; an empty one adds nothing.
void note_busy(std::vector<Record>& records, const std::string& sentence);

}  // namespace headroom::cli
