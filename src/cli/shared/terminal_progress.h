// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "headroom/schedule/observer.h"

namespace headroom::cli {

/// Shows where a session is on one line of standard error, redrawn at most ten times a second; nothing where
/// that is not a terminal. Hands on what each round gave, and the records of each finished group.
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
};

}  // namespace headroom::cli
