// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "headroom/machine/noise.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// Looks at the CPUs of this process for a tenth of a second and says on standard error when other programs
/// leave too few of them for `threads` threads. Nothing where the machine is quiet. Call it before any runner
/// is at work.
std::optional<LoadWarning> warn_when_busy(int threads);

/// Puts it into each record, if there is one.
void note_busy(std::vector<Record>& records, const std::optional<LoadWarning>& warning);

/// What other programs did on the CPUs of this process while `measure` ran, which waits for all that it
/// starts. Nothing where it was quiet. Takes a fifth of a second at least, the shortest that can be told.
std::optional<LoadWarning> load_beside(const std::function<void()>& measure);

/// Whether the control group's quota of CPU time holds this process up, from the making on.
class QuotaWatch {
 public:
  QuotaWatch();
  /// Puts into each record what it did since the last call, or the making, if it did.
  void note(std::vector<Record>& records);

 private:
  std::optional<double> throttled_s_;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace headroom::cli
