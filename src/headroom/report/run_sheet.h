// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/base/sheet.h"
#include "headroom/record/record.h"

namespace headroom {

/// What `headroom run` shows: how the cases stand to their targets, their limits and each other, and what to
/// mind when reading that; then run_table(), what its marks mean and the means over shapes.
Sheet run_sheet(const std::vector<Record>& records);

/// The doubts about `measured` that their marks tell, each a sentence: that the machine was busy, that
/// sampling was capped. What the rows are called in them: "cases".
void answer_doubts(Sheet& sheet, const std::vector<const Record*>& measured, const char* rows);

}  // namespace headroom
