// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "headroom/schedule/plan.h"
#include "headroom/schedule/runner.h"
#include "headroom/schedule/worker.h"

namespace headroom {

/// The runner processes of a session. Every runner is started once at the beginning to learn what it offers,
/// and again whenever a fresh process is wanted or the old one was lost.
class RunnerFleet final : public Workers {
 public:
  explicit RunnerFleet(const std::atomic<bool>& interrupted) : interrupted_(interrupted) {}

  /// Starts the runner and asks what it offers. Throws RunnerUnfit when it is not a runner, Error when it is
  /// missing, or refuses where it may not (RunnerCommand::may_refuse).
  void add(RunnerCommand command, bool only_limits);

  /// The runners that refused, with why: "headroom-cuda: no CUDA device: …".
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// Labels: the runner's name; its path where two have the same name; "path#2" where two have the same path.
  std::vector<RunnerOffer> offers() const;

  /// Asks those that run to end. Throws RunnerLost where it matters how one ends.
  void finish();

  Worker& at(std::size_t runner) override;
  void stop(std::size_t runner) override;

 private:
  struct Member {
    RunnerCommand command;
    std::string name;
    RunnerDescription description;
    bool traces = false;
    bool only_limits = false;
    std::unique_ptr<Runner> process;
    bool counts = false;
  };

  std::string label_of(std::size_t index) const;

  const std::atomic<bool>& interrupted_;
  std::vector<Member> members_;
  std::vector<std::string> left_out_;
};

}  // namespace headroom
