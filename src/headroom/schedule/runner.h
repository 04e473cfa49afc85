// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/base/error.h"
#include "headroom/experiment/device_description.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/ranks/rank_hello.h"
#include "headroom/schedule/worker.h"

namespace headroom {

/// How to start a runner, and how long it may take to answer.
struct RunnerCommand {
  std::string path;
  std::chrono::milliseconds hello_timeout{15'000};
  std::chrono::milliseconds reply_timeout{120'000};
  /// Words before `path` that start it: {"python3", "-m", "headroom._serve"}; empty: it is a program.
  std::vector<std::string> interpreter{};
  std::vector<std::pair<std::string, std::string>> environment{};  ///< beside ours
  std::optional<int> socket{};  ///< it runs already, and answers here; it cannot be started again
  bool is_company = false;      ///< there to be compared with what others have, not for all that it has
  std::vector<std::string> arguments{};  ///< where there are any, it may take reply_timeout to greet
  bool may_refuse = false;  ///< left out, and said so, where it says in place of a greeting what it lacks
  /// Starts the ranks of a rank job whose program `path` is; empty: the runner is one process.
  std::function<RankGroup()> start_ranks{};
  std::string rank_backend = "gloo";  ///< by which they exchange data, or "nccl"
};

/// What was started is no runner, cannot say what it offers, or refuses.
class RunnerUnfit : public Error {
 public:
  using Error::Error;
};

/// What a runner said in place of its greeting: what the machine lacks, or what it cannot do of its
/// arguments.
class RunnerRefused : public RunnerUnfit {
 public:
  using RunnerUnfit::RunnerUnfit;
};

struct RunnerDescription {
  std::vector<ExperimentDescription> experiments;
  std::vector<DeviceDescription> devices;  ///< other than the CPU
  std::optional<BlasLibrary> blas{};       ///< that it computes with; empty: it tells of none
  std::vector<RankHello> ranks{};          ///< of a rank job: what each says of itself
};

/// A runner that was started.
class Runner : public Worker {
 public:
  virtual const Hello& hello() const = 0;
  /// What it offers, and on which devices. Throws RunnerLost.
  virtual RunnerDescription describe() = 0;
  /// Asks it to end, and waits for that where it matters how it ends. Throws RunnerLost.
  virtual void finish() {}
  /// Whether nothing can be asked of it any more.
  virtual bool is_lost() const { return false; }
};

/// Throws what RunnerProcess's and RankRunner's constructors throw.
std::unique_ptr<Runner> start_runner(const RunnerCommand& command, const std::atomic<bool>& interrupted);

}  // namespace headroom
