// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom::cli {

/// What the instrument that made the records shows of them; of several instruments one below the other.
/// Throws Error where a record says of its run what cannot be.
Sheet shown_records(const std::vector<Record>& records);

/// The records of one instrument.
struct InstrumentRecords {
  const char* kind;  ///< "run" (which all that is no other is), "cache", "dispatch", "ddp", "collectives"
  std::vector<Record> records;
  Sheet sheet;  ///< what it shows of them
};

/// The records by the instruments that made them, in the order in which these come; a sweep of data-parallel
/// training has its collectives. Throws as shown_records does.
std::vector<InstrumentRecords> by_instrument(std::vector<Record> records);

/// Whether they are shown as a table of cases or commands, in which several runs of a case can be one row.
bool shows_cases(const std::vector<Record>& records);

/// What `headroom ab` and `headroom time` show: commands, each group compared with its first one.
Sheet shown_commands(const std::vector<Record>& records);

}  // namespace headroom::cli
