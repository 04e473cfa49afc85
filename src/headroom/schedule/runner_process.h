// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/base/error.h"
#include "headroom/experiment/device_description.h"
#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"
#include "headroom/schedule/worker.h"

namespace headroom {

/// How to start a runner, and how long it may take to answer.
struct RunnerCommand {
  std::string path;
  std::chrono::milliseconds hello_timeout{15'000};
  std::chrono::milliseconds reply_timeout{120'000};
  std::vector<std::string> arguments{};  ///< where there are any, it may take reply_timeout to greet
  bool may_refuse = false;  ///< left out, and said so, where it says in place of a greeting what it lacks
};

/// What a runner said in place of its greeting: what the machine lacks, or what it cannot do of its
/// arguments.
class RunnerRefused : public Error {
 public:
  using Error::Error;
};

struct RunnerDescription {
  std::vector<ExperimentDescription> experiments;
  std::vector<DeviceDescription> devices;  ///< other than the CPU
  std::optional<BlasLibrary> blas{};       ///< that it computes with; empty: it tells of none
};

/// A runner in a process of its own, spoken to over the protocol.
class RunnerProcess final : public Worker {
 public:
  /// Starts the program and reads its Hello. Throws RunnerRefused when it says why not, Error when it cannot
  /// be started, is not a runner, or speaks another version of the protocol. `interrupted` is looked at while
  /// waiting.
  RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted);
  ~RunnerProcess() override;

  const Hello& hello() const { return hello_; }
  /// What it offers, and on which devices.
  RunnerDescription describe();

  std::int64_t pid() const override { return child_.pid(); }
  PrepareReply prepare(int id, const CaseSpec& spec) override;
  SampleReply sample(int id, const SampleRequest& request) override;
  std::string trace(int id, const std::string& file) override;
  void release(int id) override;

 private:
  RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted,
                std::pair<Channel, Channel> ends);

  void greet();
  Json ask(const Json& request);
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
  Child child_;
  Hello hello_;
};

}  // namespace headroom
