// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Returns "L1", "L2", "memory"; empty between the last-level cache and memory.
std::string roofline_level(const Record& record, double bytes);

/// Whether the threads do the work: those of GPU cases only launch it.
bool counts_threads(const Record& record);

/// Hardware counts per iteration and declared work. Points into the records.
struct CountedWork {
  const Record* first = nullptr;
  const Record* instructions = nullptr;
  const Record* cycles = nullptr;
  const Record* miss_volume = nullptr;
  const Record* volume = nullptr;  ///< moved by the memory controllers
  const Record* background = nullptr;
  double declared_bytes = 0;
  bool memory_source = false;  ///< so declared and counted bytes are comparable
};

std::vector<CountedWork> counted_work(const std::vector<Record>& records);
std::optional<CountedWork> counted_work_of(const std::vector<CountedWork>& all, const Record& record);

/// Returns the interval of the median, or the range of the values if there are too few.
std::pair<double, double> counted_range(const Record& record);

Table counted_table(const std::vector<CountedWork>& all);

/// Reports cases in memory that move other than the declared bytes, beyond spread, background and 5 %,
/// largest difference first. Ignores cache misses: they count L2 or L1 by processor, often without
/// prefetches.
std::vector<std::string> counted_findings(const std::vector<CountedWork>& all);

std::string counted_legend(const std::vector<CountedWork>& all);

}  // namespace headroom
