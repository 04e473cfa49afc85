// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "headroom/schedule/observer.h"

namespace headroom::cli {

/// Shows where a session is on one line of standard error, redrawn at most ten times a second; nothing where
/// that is not a terminal. Hands the records of each finished group on.
class TerminalProgress final : public Observer {
 public:
  explicit TerminalProgress(std::function<void(const std::vector<Record>&)> on_records);
  ~TerminalProgress() override;

  void progress(const Progress& progress) override;
  void finished(const std::vector<Record>& records) override;

 private:
  void clear();

  std::function<void(const std::vector<Record>&)> on_records_;
  bool is_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace headroom::cli
