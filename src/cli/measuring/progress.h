// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

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
  ~TerminalProgress() override;

  void progress(const Progress& progress) override;
  void sampled(const GroupResult& so_far) override { on_round_(so_far); }
  void finished(const std::vector<Record>& records) override;

 private:
  void clear();

  std::function<void(const std::vector<Record>&)> on_records_;
  std::function<void(const GroupResult&)> on_round_;
  bool is_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
  std::string title_;  ///< of the current group
  std::size_t group_ = 0, groups_ = 1;
  double elapsed_ns_ = 0;
};

}  // namespace headroom::cli
