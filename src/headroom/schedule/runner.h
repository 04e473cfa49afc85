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

#include "headroom/base/blas_library.h"
#include "headroom/base/error.h"
#include "headroom/experiment/registry.h"
#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/runner/protocol.h"
#include "headroom/schedule/plan.h"

namespace headroom {

/// Thrown when a runner died, hangs or broke the protocol. Readings taken before that are kept. `reason`
/// reads after "the runner": "was killed by signal 11 (Segmentation fault)". If `is_final`, the run ends and
/// `reason` is a whole sentence.
struct RunnerLost {
  std::string reason;
  bool is_final = false;
};

/// Thrown when a runner had not answered by Workers::answer_by(). It has been ended.
struct OutOfTime {};

/// The clock of deadlines, in ns.
double steady_now_ns();

/// A runner as the scheduler sees it. All calls throw RunnerLost, OutOfTime or Interrupted.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual std::int64_t pid() const = 0;
  virtual PrepareReply prepare(int id, const CaseSpec& spec) = 0;
  virtual SampleReply sample(int id, const SampleRequest& request) = 0;
  /// Counts hardware events of iterations that are not timed.
  virtual CountReply count(int id, const SampleRequest& request) = 0;
  /// Records a trace into `file`. Returns the reason if that failed, else an empty string.
  virtual std::string trace(int id, const std::string& file) = 0;
  virtual void release(int id) = 0;
  /// Releases a case that has all its samples. Returns its conclusion, one per rank in a rank job.
  virtual std::vector<Conclusion> conclude(int id) = 0;
};

/// The runners of a session, by index.
class Workers {
 public:
  virtual ~Workers() = default;
  /// Starts the runner if it is not running.
  virtual Worker& at(std::size_t runner) = 0;
  /// Ends the runner. The next at() starts a fresh process.
  virtual void stop(std::size_t runner) = 0;
  /// As stop(), but a process that has not been used yet stays: it is a fresh one.
  virtual void renew(std::size_t runner) { stop(runner); }
  /// How long it last took to start the runner.
  virtual double start_ns(std::size_t /*runner*/) const { return 0; }
  /// From now on, runners that have not answered by this time of steady_now_ns() are ended.
  virtual void answer_by(double /*ns*/) {}
};

/// How to start a runner, with its timeouts.
struct RunnerCommand {
  std::string path;
  std::chrono::milliseconds hello_timeout{15'000};
  std::chrono::milliseconds reply_timeout{120'000};
  /// Words before `path`, such as {"python3", "-m", "headroom._serve"}; empty for a program.
  std::vector<std::string> interpreter{};
  std::vector<std::pair<std::string, std::string>> environment{};  ///< added to ours
  std::optional<int> socket{};           ///< of a runner that is already running and cannot be restarted
  bool is_company = false;               ///< runs only the experiments that other runners offer
  std::vector<std::string> arguments{};  ///< with arguments, the greeting may take reply_timeout
  bool may_refuse = false;               ///< if it refuses, leave it out with a note
  /// Starts the ranks of a rank job whose program is `path`; empty for a single process.
  std::function<RankGroup()> start_ranks{};
  std::string rank_backend = "gloo";  ///< process group backend: "gloo" or "nccl"
};

/// Thrown if a program is not a runner, cannot describe itself, or refuses.
class RunnerUnfit : public Error {
 public:
  using Error::Error;
};

/// Thrown if a runner refuses instead of greeting: the machine lacks something, or its arguments are wrong.
class RunnerRefused : public RunnerUnfit {
 public:
  using RunnerUnfit::RunnerUnfit;
};

struct RunnerDescription {
  std::vector<ExperimentDescription> experiments;
  std::vector<DeviceDescription> devices;  ///< other than the CPU
  std::optional<BlasLibrary> blas{};       ///< empty if unknown
  std::vector<RankHello> ranks{};          ///< one per rank of a rank job
};

/// A started runner.
class Runner : public Worker {
 public:
  /// `deadline_ns` as for answer_by(), for the greeting too.
  explicit Runner(double deadline_ns) : deadline_ns_(deadline_ns) {}
  virtual const Hello& hello() const = 0;
  /// Returns its experiments and devices. Throws RunnerLost.
  virtual RunnerDescription describe() = 0;
  /// Asks the runner to end. Rank jobs wait for the exit status. Throws RunnerLost.
  virtual void finish() {}
  /// Whether the runner can no longer answer.
  virtual bool is_lost() const { return false; }

  void answer_by(double ns) { deadline_ns_ = ns; }
  /// Whether it was ended because it had not answered in time.
  bool ran_out_of_time() const { return ran_out_of_time_; }

 protected:
  bool is_late() const { return steady_now_ns() >= deadline_ns_; }
  [[noreturn]] void end_late() {
    ran_out_of_time_ = true;
    throw OutOfTime{};
  }

 private:
  double deadline_ns_;
  bool ran_out_of_time_ = false;
};

/// Throws like the constructors of RunnerProcess and RankRunner, and OutOfTime.
std::unique_ptr<Runner> start_runner(const RunnerCommand& command, const std::atomic<bool>& interrupted,
                                     double deadline_ns = std::numeric_limits<double>::infinity());

/// A runner in its own process, reached over the protocol.
class RunnerProcess final : public Runner {
 public:
  /// Starts the program and reads its Hello. Checks `interrupted` while waiting. Throws Error if the program
  /// cannot be started, RunnerRefused if it refuses, RunnerUnfit if it is not a runner or speaks another
  /// protocol version.
  RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted,
                double deadline_ns = std::numeric_limits<double>::infinity());
  ~RunnerProcess() override;

  const Hello& hello() const override { return hello_; }
  RunnerDescription describe() override;
  bool is_lost() const override { return lost_ || ran_out_of_time(); }

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

  [[noreturn]] void tell_no_runner(const std::string& what) const;
  void greet();
  /// Numbers the request and returns the reply. Throws RunnerLost or Interrupted.
  Json ask(Json request);
  /// Returns the result of `decode`. Loses the runner if the answer is malformed.
  template <typename Decode>
  auto understood(Decode&& decode);
  /// Returns the next line. Throws RunnerLost or Interrupted.
  std::string await_line(std::chrono::milliseconds timeout);
  /// Ends the runner. `what` reads after "it"; the exit status replaces it if the process ended by itself.
  [[noreturn]] void lose(const std::string& what);
  std::string last_words() const;

  RunnerCommand command_;
  const std::atomic<bool>& interrupted_;
  Channel channel_;
  std::optional<Child> child_;  ///< empty if the process was already running
  std::int64_t pid_ = 0;
  bool lost_ = false;
  std::uint64_t asked_ = 0;  ///< number of requests
  Hello hello_;
};

/// The runner processes of a session. Starts each runner once to learn what it offers, and again for a fresh
/// process or after a loss.
class RunnerFleet final : public Workers {
 public:
  explicit RunnerFleet(const std::atomic<bool>& interrupted) : interrupted_(interrupted) {}

  /// Starts the runner and reads its description. Throws RunnerUnfit if it is not a runner, Error if it is
  /// missing or refuses without RunnerCommand::may_refuse.
  void add(RunnerCommand command, bool only_limits);

  /// The runners that refused, each with the reason: "headroom-cuda: no CUDA device: …".
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// Returns the offers, labelled by runner name; by path if two share a name; by "path#2" if two share a
  /// path.
  std::vector<RunnerOffer> offers() const;

  /// Ends the running runners. Throws RunnerLost.
  void finish();

  Worker& at(std::size_t runner) override;
  void stop(std::size_t runner) override;
  void renew(std::size_t runner) override;
  double start_ns(std::size_t runner) const override { return members_.at(runner).start_ns; }
  void answer_by(double ns) override;

 private:
  struct Member {
    RunnerCommand command;
    std::string name;
    RunnerDescription description;
    bool traces = false;
    bool only_limits = false;
    std::unique_ptr<Runner> process;
    bool counts = false;
    bool ran_out_of_time = false;
    bool is_used = false;  ///< the process that runs
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
