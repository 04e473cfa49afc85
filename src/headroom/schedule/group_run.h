// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/calibration.h"
#include "headroom/schedule/limits.h"
#include "headroom/schedule/plan.h"
#include "headroom/schedule/runner.h"
#include "headroom/schedule/track.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// Progress of a session.
struct Progress {
  std::size_t group = 0, groups = 1;
  std::string title;
  std::string phase;  ///< "preparing", "calibrating", "sampling"
  std::size_t process = 0, processes = 1;
  std::uint32_t rounds = 0;
  double elapsed_ns = 0, max_time_ns = 0;
  double median_ns = 0;                    ///< of the first case; 0 before its first sample
  std::optional<double> worst_half_width;  ///< of all cases, compared with the precision goal
  double goal = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void progress(const Progress& progress) = 0;
  /// Called after each round of the current group.
  virtual void sampled(const GroupResult& /*so_far*/) {}
  /// Called with the final records of a group.
  virtual void finished(const std::vector<Record>& records) = 0;
};

/// The prepared cases and limits of a group. When a runner is lost, the current track is marked and the
/// runner's other tracks are prepared again in a fresh process (a new epoch). All calls throw Interrupted
/// when the user wants to stop.
class PreparedTracks {
 public:
  /// All arguments must outlive this.
  PreparedTracks(GroupResult& result, Workers& workers, const std::atomic<bool>& interrupted)
      : result_(&result), workers_(&workers), interrupted_(&interrupted) {}

  /// Reverses the order in every other process: the first case started finds other memory than the last.
  void prepare_all();
  void prepare(Track& track);
  /// Concludes all tracks after their last sample.
  void conclude_all();
  /// Ends the runners of all tracks without a request to quit.
  void stop_runners();
  /// Gives all tracks runners that have not been used.
  void renew_runners();
  /// How long it takes to start their runners.
  double start_ns() const;
  /// A runner that has not answered by `ns` is ended, and the case that it prepared is out of time. Its other
  /// cases are prepared again and may be sampled once, by `grace_ns`, unless its start takes too much of that;
  /// none are prepared that were not before.
  /// After that, calls throw OutOfTime.
  void prepare_by(double ns, double grace_ns, std::string reason);
  /// From here on calls throw OutOfTime at `ns`.
  void answer_by(double ns);
  /// Marks the cases without a reading.
  void mark_out_of_time();
  /// Starts a new epoch: fresh processes of all runners.
  void next_epoch() { ++epoch_; }
  std::uint32_t epoch() const { return epoch_; }

  /// Runs `body`. If the runner is lost, marks `track` and prepares the runner's other tracks again. Throws
  /// RunnerLost if the loss is final.
  void guarded(Track& track, const std::function<void(Worker&)>& body);
  /// Like guarded() for optional work: `track` survives too. Returns how the runner was lost, or an empty
  /// string.
  std::string spared(const Track& track, const std::function<void(Worker&)>& body);
  /// Returns a sample of the track, or nothing if it failed or its runner was lost.
  std::optional<SampleReply> sample(Track& track, const SampleRequest& request);
  /// Marks the track as failed and releases it.
  void fail(Track& track, const std::string& reason);

  std::vector<Track*> all();
  /// Returns the sampled tracks except ping-pong readings, which come first in a round.
  std::vector<Track*> sampled();
  bool any_case_alive() const;

 private:
  void prepare_again(std::size_t runner);
  std::set<std::size_t> runners() const;

  GroupResult* result_;
  Workers* workers_;
  const std::atomic<bool>* interrupted_;
  std::uint32_t epoch_ = 0;
  std::optional<double> grace_ns_{};  ///< while cases may still be prepared
  double prepare_by_ns_ = 0;
  std::string out_of_time_{};         ///< reason of what was not reached
  bool is_closed_ = false;            ///< no further cases are prepared
};

/// Decides within one process which cases are precise enough to be sampled in every other round only, so that
/// the time goes to wide intervals. All settled cases share the same rounds, which keeps their ratios to each
/// other and to the limits paired; baselines are sampled in every round. A case settles by the rule that
/// would end its sampling if it were alone (Stopping), and unsettles if its interval grows again. Whether a
/// case is sampled never depends on a sample of the same round.
class SettledCases {
 public:
  SettledCases(const StopRule& rule, std::size_t cases) : stopping_(cases, Stopping(rule)), settled_(cases) {}

  /// Call with the half_widths() of `cases` at each look. `first_round` is that of this process.
  void look(std::span<const Track> cases, std::span<const double> half_widths, double elapsed_ns,
            std::uint32_t first_round);

  /// Whether to sample the case in this round.
  bool is_due(std::size_t index, std::uint32_t round) const { return round % 2 == 0 || !spared_.at(index); }

 private:
  std::vector<Stopping> stopping_;
  std::vector<bool> settled_;
  std::vector<bool> spared_ = std::vector<bool>(stopping_.size());
};

/// Returns the smallest number of readings since `first_round` among live cases; 0 without a live case.
std::size_t fewest_readings(std::span<const Track> cases, std::uint32_t first_round);

/// Returns the rule for one of `processes` that share `rule`. Precision grows with the square root of the
/// samples, so the goal of one process is wider.
StopRule process_share(const StopRule& rule, int processes);

/// Returns the cases to count now: sampled since `first_round`, on the host, by a runner that can count.
std::vector<Track*> countable(std::vector<Track>& cases, const std::vector<RunnerOffer>& offers,
                              std::uint32_t first_round);

/// Counts a tenth of the samples since `first_round`, at least one and at most five, in untimed passes after
/// all samples of the process, so that no counter is open while the clock runs. Stops at the first failure
/// and notes the reason. Throws what `worker` throws.
void count_passes(Track& track, Worker& worker, std::uint32_t epoch, std::uint32_t first_round);

/// Settings for the rounds of a group.
struct RoundSettings {
  StopRule stop;
  double sample_ns = 5e6;           ///< minimum time of one sample
  int processes = 1;                ///< fresh runner processes that share the samples
  std::uint32_t warmup = 0;         ///< discarded samples of each case in each process
  bool limits = true;               ///< sample the machine's limits in the same rounds
  bool subtracts_overhead = false;  ///< subtract the measurement overhead from each time
  bool strict = false;              ///< fail cases that accumulate in less than f32
  bool counts = true;               ///< count hardware events where possible
  std::string traces{};             ///< folder for traces; empty for no traces
  bool tunes = true;                ///< tune cases without a stored choice
  TuningStore* tuning = nullptr;    ///< earlier variant choices; null: the implementations decide
  std::uint64_t seed = 1;           ///< of the random order within rounds
  std::function<double()> now_ns;   ///< clock for the time caps
  double end_ns = std::numeric_limits<double>::infinity();  ///< of the run's time, on that clock
  double share_ns = std::numeric_limits<double>::infinity();  ///< of the time left, what this group may take
  std::string out_of_time{};  ///< why a case was not reached by then
  /// Called after each round.
  std::function<void(const GroupResult&)> on_round = [](const GroupResult&) {};
};

/// A group that the time of the run did not reach: no case has a reading, for this reason.
GroupResult unreached(const Group& group, const std::string& reason);

/// Measures one group. In each fresh process: prepares the cases and their limits, calibrates, and takes one
/// sample of each per round in random order, exactly one at a time, until the stop rule fires. SettledCases
/// thins out precise cases; beaten_limits() ends limits that bound nothing. Each process gets an equal share
/// of samples and time and stops by its own readings: the final interval includes the variation between
/// processes, which more samples in one process would not narrow. A failed case or lost runner is marked; the
/// others go on. When the time of the run is over (RoundSettings::end_ns), sampling ends with the sample that
/// it is in; cases that were not ready by then are marked.
class GroupRun {
 public:
  GroupRun(const Group& group, const std::vector<RunnerOffer>& offers, Workers& workers,
           RoundSettings settings, std::function<void(const Progress&)> report,
           const std::atomic<bool>& interrupted);
  GroupRun(const GroupRun&) = delete;
  GroupRun& operator=(const GroupRun&) = delete;

  GroupResult run();

 private:
  void run_process(int process);
  /// Whether the first process of this group may be one that other groups were measured in: fresh ones would
  /// take too much of its time.
  bool keeps_runners() const;
  bool recall_variant(Track& track);
  void tune_all();
  void tune(Track& track, int first_id);
  void refuse_coarse_sums();
  void add_limits();
  void calibrate_all();
  std::vector<const Track*> first_of_each_limits() const;
  void drop_loose_limits();
  /// Lengthens limit samples to the length of a case's sample, or less if there are many limits.
  void lengthen_limits();
  void warm_up();
  /// Fewer processes where so many would leave too little time to sample.
  void settle_processes();
  StopRule rule_of_process() const;
  void sample_rounds();
  void sample_round();
  bool should_end(const StopRule& rule, Stopping& stopping);
  void rest_beaten_limits();
  void count_cases();
  /// Traces the cases. Returns whether the session requested any of the traces.
  bool trace_cases();
  void refuse_traces();
  void calibrate(Track& track, double target_ns);
  void sample(Track& track);
  double sampling_ns() const;
  /// When the last case is begun that was prepared in time.
  double grace_end_ns() const;
  bool is_late() const { return settings_.now_ns() >= settings_.end_ns; }
  void announce(const char* phase);

  const std::vector<RunnerOffer>& offers_;
  RoundSettings settings_;
  std::function<void(const Progress&)> report_;
  const std::atomic<bool>& interrupted_;
  GroupResult result_;
  PreparedTracks tracks_;
  Progress progress_;
  std::mt19937_64 random_;
  std::uint32_t round_ = 0;
  double placement_ns_ = 0;
  SettledCases settled_{{}, 0};
  std::uint32_t first_round_ = 0;         ///< first round of this process
  std::size_t next_look_ = 0;             ///< sample count of this process at the next look at the intervals
  std::optional<double> sampling_since_;  ///< start of sampling in this process
  double sampled_before_ns_ = 0;          ///< sampling time of earlier processes
  double prepare_by_ns_ = std::numeric_limits<double>::infinity();
  double prepared_ns_ = 0;  ///< what its first process took to get ready
};

}  // namespace headroom
