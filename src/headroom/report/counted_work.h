// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/table.h"
#include "headroom/record/record.h"

namespace headroom {

/// What the hardware counted of a case per iteration (record/counted_metrics.h), beside what the case
/// declares. Points into the records that it is of.
struct CountedWork {
  const Record* first = nullptr;  ///< any record of the case
  const Record* instructions = nullptr;
  const Record* cycles = nullptr;
  const Record* miss_volume = nullptr;
  const Record* volume = nullptr;  ///< that the memory controllers moved
  const Record* background = nullptr;
  double declared_bytes = 0;  ///< 0 where the case declares none
  bool from_memory = false;   ///< whether its inputs lie in memory, so that both volumes are of the same
};

/// Of each case, in the order of first appearance; those of which nothing was counted are left out.
std::vector<CountedWork> counted_work(const std::vector<Record>& records);
/// That of the case of `record`; nothing where there is none.
std::optional<CountedWork> counted_work_of(const std::vector<CountedWork>& all, const Record& record);

/// Between which values the median lies: its interval, or all values where they are too few for one.
std::pair<double, double> counted_range(const Record& record);

/// A row for each case, with numbers per iteration.
Table counted_table(const std::vector<CountedWork>& all);

/// Where the bytes that memory controllers moved for a case from memory are not those that it declares, by
/// more than their spread, what others moved meanwhile and 5 %: "gemv D=4096 native moves 1.52 times the
/// bytes that it declares: ...", a sentence for each, the largest difference first. Misses say nothing
/// of that: they are of L2 or L1 on some processors, and often without what a prefetcher fetched.
std::vector<std::string> counted_findings(const std::vector<CountedWork>& all);

/// What the numbers of counted_table mean; empty where it has no rows.
std::string counted_legend(const std::vector<CountedWork>& all);

}  // namespace headroom
