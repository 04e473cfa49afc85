// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"
#include "headroom/schedule/runner.h"

namespace headroom {

/// A runner in a process of its own, spoken to over the protocol.
class RunnerProcess final : public Runner {
 public:
  /// Starts the program and reads its Hello. Throws Error when it cannot be started, RunnerRefused when it
  /// says why not, RunnerUnfit when it is not a runner or speaks another version of the protocol.
  /// `interrupted` is looked at while waiting.
  RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted);
  ~RunnerProcess() override;

  const Hello& hello() const override { return hello_; }
  RunnerDescription describe() override;
  bool is_lost() const override { return lost_; }

  std::int64_t pid() const override { return pid_; }
  PrepareReply prepare(int id, const CaseSpec& spec) override;
  SampleReply sample(int id, const SampleRequest& request) override;
  CountReply count(int id, const SampleRequest& request) override;
  std::string trace(int id, const std::string& file) override;
  void release(int id) override;
  std::vector<Conclusion> conclude(int id) override;

 private:
  RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted,
                std::pair<Channel, Channel> ends);

  [[noreturn]] void tell_no_runner(const std::string& what) const;
  void greet();
  /// The reply to `request`, which gets its number. Throws RunnerLost or Interrupted.
  Json ask(Json request);
  /// The result of `decode`; an answer that it cannot read loses the runner.
  template <typename Decode>
  auto understood(Decode&& decode);
  /// The next line from the runner. Throws RunnerLost or Interrupted.
  std::string await_line(std::chrono::milliseconds timeout);
  /// Ends the runner. `what` it did reads after "it"; how the process ended says it better where it did by
  /// itself.
  [[noreturn]] void lose(const std::string& what);
  std::string last_words() const;

  RunnerCommand command_;
  const std::atomic<bool>& interrupted_;
  Channel channel_;
  std::optional<Child> child_;  ///< empty: it ran before, and is not ours to end
  std::int64_t pid_ = 0;
  bool lost_ = false;
  std::uint64_t asked_ = 0;  ///< requests
  Hello hello_;
};

}  // namespace headroom
