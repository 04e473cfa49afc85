// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Returns the memory level of a working set of `bytes`: "L1", "L2", "memory"; empty between the last-level
/// cache and memory. Uses the cache sizes of the CPU or GPU in the record's environment.
std::string roofline_level(const Record& record, double bytes);

/// Whether the record's threads do its work. Threads of a GPU case only launch it.
bool counts_threads(const Record& record);

/// Hardware counts of a case per iteration (record/metrics.h), and the work that it declares. Points into the
/// records.
struct CountedWork {
  const Record* first = nullptr;  ///< any record of the case
  const Record* instructions = nullptr;
  const Record* cycles = nullptr;
  const Record* miss_volume = nullptr;
  const Record* volume = nullptr;  ///< moved by the memory controllers
  const Record* background = nullptr;
  double declared_bytes = 0;  ///< 0 if not declared
  bool from_memory =
      false;  ///< whether the inputs are in memory, so that the declared and counted bytes are comparable
};

/// Returns the counted cases in order of first appearance.
std::vector<CountedWork> counted_work(const std::vector<Record>& records);
/// Returns the counts for the case of `record`, if any.
std::optional<CountedWork> counted_work_of(const std::vector<CountedWork>& all, const Record& record);

/// Returns the interval of the median, or the range of all values if there are too few for one.
std::pair<double, double> counted_range(const Record& record);

/// Makes a row for each case, per iteration.
Table counted_table(const std::vector<CountedWork>& all);

/// Reports cases in memory whose moved bytes differ from the declared bytes by more than the spread, the
/// background traffic and 5 %, the largest difference first: "gemv D=4096 native moves 1.52 times the bytes
/// that it declares: ...". Does not use cache misses, which count L2 or L1 depending on the processor, often
/// without prefetches.
std::vector<std::string> counted_findings(const std::vector<CountedWork>& all);

/// Explains the columns of counted_table; empty if it has no rows.
std::string counted_legend(const std::vector<CountedWork>& all);

}  // namespace headroom
