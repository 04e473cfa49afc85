// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// The records of one case, backend and runner, seen as one row. Never owns them.
struct CaseRow {
  const Record* latency = nullptr;  ///< the record of the metric "latency", if there is one
  const Record* headline =
      nullptr;  ///< the record that the table is about; the only one, or the last, if unmarked

  const Record* overhead = nullptr;  ///< what measuring adds to the time; only where that was measured
  const Record* gpu = nullptr;       ///< share of the time in which GPUs worked; only of a traced case
  const Record* mm_conv = nullptr;   ///< of that, on products and convolutions

  /// Any of the first two: for what they share (axes, limit, outcome).
  const Record& any() const { return headline != nullptr ? *headline : *latency; }
};

/// Merges the records of a case, in the order of first appearance. The rows of the same case (other backends
/// and runners) stand together.
std::vector<CaseRow> case_rows(const std::vector<Record>& records);

/// Equal for the records of one row: one case, backend and runner.
std::string row_key(const Record& record);

/// "gemv D=1024": the case without its dtype.
std::string case_text(const Record& record);

/// What must be named of cases, because the records differ in it.
struct CaseDifferences {
  bool runners = false, caches = false, threads = false;

  explicit CaseDifferences(const std::vector<Record>& records);
  /// case_text, with the caches and threads that tell it from others: "gemv D=1024 hot 2 threads".
  std::string case_text(const Record& record) const;
  /// "native", or "native [mine]" where runners differ and the names of both do.
  std::string backend_text(const Record& record) const;
};

}  // namespace headroom
