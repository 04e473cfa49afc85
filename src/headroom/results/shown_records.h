// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom::cli {

/// Returns the view of the instrument that made the records; several are stacked. Throws Error for an invalid
/// run description.
View shown_records(const std::vector<Record>& records);

struct InstrumentRecords {
  const char* kind;  ///< "run" (also the default), "cache", "dispatch", "ddp", "collectives"
  std::vector<Record> records;
  View view;
};

/// Groups in order of appearance; a DDP sweep includes its collectives. Throws as shown_records() does.
std::vector<InstrumentRecords> group_by_instrument(std::vector<Record> records);

/// Whether the view has rows that can join several runs.
bool shows_cases(const std::vector<Record>& records);

}  // namespace headroom::cli
