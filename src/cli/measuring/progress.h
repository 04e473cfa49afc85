// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/console/output.h"
#include "headroom/machine/noise.h"
#include "headroom/record/record.h"
#include "headroom/schedule/group_run.h"

namespace headroom::cli {

/// Shows the progress of a session on one line of standard error, redrawn at most ten times a second. Where
/// that is no terminal (a log, CI), prints a line for each finished group of several. Passes the results of
/// each round on, and the records of each finished group.
class TerminalProgress final : public Observer {
 public:
  explicit TerminalProgress(
      std::function<void(const std::vector<Record>&)> on_records,
      std::function<void(const GroupResult&)> on_round = [](const GroupResult&) {});

  void progress(const Progress& progress) override;
  void sampled(const GroupResult& so_far) override { on_round_(so_far); }
  void finished(const std::vector<Record>& records) override;

 private:
  std::function<void(const std::vector<Record>&)> on_records_;
  std::function<void(const GroupResult&)> on_round_;
  StatusLine line_;
  std::chrono::steady_clock::time_point last_{};
  std::string title_;  ///< of the current group
  std::size_t group_ = 0, groups_ = 1;
  double elapsed_ns_ = 0;
};

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
