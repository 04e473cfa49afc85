// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/experiment/registry.h"
#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/runner/protocol.h"
#include "headroom/schedule/plan.h"

namespace headroom {

/// A runner died, hangs or broke the protocol. `reason` reads after "the runner"; if `is_final`, the run ends
/// and `reason` is a sentence.
struct RunnerLost {
  std::string reason;
  bool is_final = false;
};

/// A runner missed a deadline and was ended.
struct OutOfTime {};

/// The clock of deadlines.
double steady_now_ns();

/// All calls throw RunnerLost, OutOfTime or Interrupted.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual std::int64_t pid() const = 0;
  virtual PrepareReply prepare(int id, const CaseSpec& spec) = 0;
  virtual SampleReply sample(int id, const SampleRequest& request) = 0;
  /// Untimed.
  virtual CountReply count(int id, const SampleRequest& request) = 0;
  /// Returns the reason of a failure, or "".
  virtual std::string trace(int id, const std::string& file) = 0;
  virtual void release(int id) = 0;
  /// Releases a case after its samples. One conclusion per rank.
  virtual std::vector<Conclusion> conclude(int id) = 0;
};

class Workers {
 public:
  virtual ~Workers() = default;
  virtual Worker& at(std::size_t runner) = 0;
  /// The next at() starts a fresh process.
  virtual void stop(std::size_t runner) = 0;
  /// Like stop(), but keeps an unused process.
  virtual void renew(std::size_t runner) { stop(runner); }
  virtual double start_ns(std::size_t /*runner*/) const { return 0; }
  /// Ends runners that have not answered by `ns` of steady_now_ns().
  virtual void set_deadline(double /*ns*/) {}
};

struct RunnerCommand {
  std::string path;
  std::chrono::milliseconds hello_timeout{15'000};
  std::chrono::milliseconds reply_timeout{120'000};
  /// such as {"python3", "-m", "headroom._serve"}
  std::vector<std::string> interpreter{};
  std::vector<std::pair<std::string, std::string>> environment{};  ///< added to ours
  std::optional<int> socket{};           ///< of a running runner that cannot be restarted
  bool is_companion = false;             ///< runs only experiments that others offer
  std::vector<std::string> arguments{};  ///< with any, the greeting may take reply_timeout
  bool may_refuse = false;               ///< leave it out with a note
  /// Set for a rank job.
  std::function<RankGroup()> start_ranks{};
  std::string rank_backend = "gloo";  ///< or "nccl"
  std::string label{};                ///< in results, if not its name or path
};

/// The program is not a runner, cannot describe itself, or refuses.
class RunnerUnusable : public Error {
 public:
  using Error::Error;
};

/// The machine lacks something, or the arguments are wrong.
class RunnerRefused : public RunnerUnusable {
 public:
  using RunnerUnusable::RunnerUnusable;
};

class Runner : public Worker {
 public:
  /// `deadline_ns` as in set_deadline(), also for the greeting.
  explicit Runner(double deadline_ns) : deadline_ns_(deadline_ns) {}
  /// Labelled with the name in its greeting. Throws RunnerLost.
  virtual RunnerOffer describe() = 0;
  /// Rank jobs wait for the exit status. Throws RunnerLost.
  virtual void finish() {}
  virtual bool is_lost() const { return false; }

  void set_deadline(double ns) { deadline_ns_ = ns; }
  bool has_timed_out() const { return has_timed_out_; }

 protected:
  bool is_late() const { return steady_now_ns() >= deadline_ns_; }
  [[noreturn]] void throw_timeout() {
    has_timed_out_ = true;
    throw OutOfTime{};
  }

 private:
  double deadline_ns_;
  bool has_timed_out_ = false;
};

/// Throws OutOfTime and the constructors' exceptions.
std::unique_ptr<Runner> start_runner(const RunnerCommand& command, const std::atomic<bool>& interrupted,
                                     double deadline_ns = std::numeric_limits<double>::infinity());

class RunnerProcess final : public Runner {
 public:
  /// Starts it and reads its Hello. Throws Error if it cannot be started, RunnerRefused if it refuses,
  /// RunnerUnusable if it is not a runner or has another protocol version.
  RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted,
                double deadline_ns = std::numeric_limits<double>::infinity());
  ~RunnerProcess() override;

  const Hello& hello() const { return hello_; }
  RunnerOffer describe() override;
  bool is_lost() const override { return lost_ || has_timed_out(); }

  std::int64_t pid() const override { return pid_; }
  PrepareReply prepare(int id, const CaseSpec& spec) override;
  SampleReply sample(int id, const SampleRequest& request) override;
  CountReply count(int id, const SampleRequest& request) override;
  std::string trace(int id, const std::string& file) override;
  void release(int id) override;
  std::vector<Conclusion> conclude(int id) override;

 private:
  RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted, double deadline_ns,
                std::pair<Channel, Channel> ends);

  [[noreturn]] void throw_not_a_runner(const std::string& what) const;
  void greet();
  /// Throws RunnerLost or Interrupted.
  Json ask(Json request);
  /// Loses the runner if the answer is malformed.
  template <typename Decode>
  auto decode_reply(Decode&& decode);
  /// Throws RunnerLost or Interrupted.
  std::string wait_for_line(std::chrono::milliseconds timeout);
  /// `what` reads after "it"; the exit status replaces it if the process exited on its own.
  [[noreturn]] void throw_lost(const std::string& what);

  RunnerCommand command_;
  const std::atomic<bool>& interrupted_;
  Channel channel_;
  std::optional<Child> child_;  ///< empty if it was already running
  std::int64_t pid_ = 0;
  bool lost_ = false;
  std::uint64_t last_request_ = 0;
  Hello hello_;
};

/// Each starts once for its offer, and again for each fresh process.
class RunnerFleet final : public Workers {
 public:
  explicit RunnerFleet(const std::atomic<bool>& interrupted) : interrupted_(interrupted) {}

  /// Throws RunnerUnusable if not a runner, Error if missing or refusing without RunnerCommand::may_refuse.
  void add(RunnerCommand command, bool only_limits);

  /// Refusals with the reason: "headroom-cuda: no CUDA device: …".
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// Labels are runner names; paths if two share a name; "path#2" if two share a path.
  std::vector<RunnerOffer> offers() const;

  /// Throws RunnerLost.
  void finish();

  Worker& at(std::size_t runner) override;
  void stop(std::size_t runner) override;
  void renew(std::size_t runner) override;
  double start_ns(std::size_t runner) const override { return members_.at(runner).start_ns; }
  void set_deadline(double ns) override;

 private:
  struct Member {
    RunnerCommand command;
    RunnerOffer offer{};  ///< labelled with the runner's name
    std::unique_ptr<Runner> process{};
    bool has_timed_out = false;
    bool is_used = false;
    double start_ns = 0;
  };

  void start(Member& member) const;

  std::string label_of(std::size_t index) const;

  const std::atomic<bool>& interrupted_;
  std::vector<Member> members_;
  std::vector<std::string> left_out_;
  double deadline_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace headroom
