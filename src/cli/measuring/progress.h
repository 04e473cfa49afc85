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

/// Redraws a line of standard error at most ten times a second; without a terminal, prints a line per
/// finished group.
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

/// Watches the CPUs for 0.1 s and warns on standard error if other programs leave too few. Call before
/// starting runners.
std::optional<LoadWarning> warn_when_busy(int threads);

void note_busy(std::vector<Record>& records, const std::optional<LoadWarning>& warning);

/// Returns other programs' load while `measure` ran, which must wait for its children; nothing if quiet.
/// Takes at least 0.2 s.
std::optional<LoadWarning> load_beside(const std::function<void()>& measure);

/// Detects throttling by the control group's CPU quota.
class QuotaWatch {
 public:
  QuotaWatch();
  /// Notes throttling since the last call or construction.
  void note(std::vector<Record>& records);

 private:
  std::optional<double> throttled_s_;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace headroom::cli
