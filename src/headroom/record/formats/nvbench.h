// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// What nvbench writes with --json and --jsonbin (read). Samples are in files beside the JSON file; where
/// they are missing the records hold nvbench's summaries, and a note says so.
Format nvbench_format();

}  // namespace headroom
