// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/group_run.h"

namespace headroom::cli {

/// `headroom run --live`: the table as it fills in, with how the samples of each case are distributed, on the
/// other screen of the terminal that standard error is. It is drawn between rounds only, while no case runs,
/// at most ten times a second and in a twentieth of the time at most. What a command shows in the end is not
/// its business: when it goes, the terminal is as it was.
class LiveRun final : public Observer {
 public:
  /// What is the observer's of any run: the records of each group, what each round gave.
  LiveRun(std::vector<std::string> labels, std::shared_ptr<const Environment> environment,
          std::function<void(const std::vector<Record>&)> on_records,
          std::function<void(const GroupResult&)> on_round);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  ~LiveRun() override;

  void progress(const Progress& progress) override { progress_ = progress; }
  void sampled(const GroupResult& so_far) override;
  void finished(const std::vector<Record>& records) override;

  /// Whether there is a terminal to draw on.
  static bool is_possible();

 private:
  void draw(const std::vector<Record>& records);
  void leave();

  std::vector<std::string> labels_;
  std::shared_ptr<const Environment> environment_;
  std::function<void(const std::vector<Record>&)> on_records_;
  std::function<void(const GroupResult&)> on_round_;
  Progress progress_;
  std::vector<Record> finished_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace headroom::cli
