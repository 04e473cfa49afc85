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

struct Progress {
  std::size_t group = 0, groups = 1;
  std::string title;
  std::string phase;  ///< such as "preparing"
  std::size_t process = 0, processes = 1;
  std::uint32_t rounds = 0;
  double elapsed_ns = 0, max_time_ns = 0;
  double median_ns = 0;                    ///< of the first case; 0 before a sample
  std::optional<double> worst_half_width;  ///< over all cases
  double goal = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void progress(const Progress& progress) = 0;
  virtual void sampled(const GroupResult& /*so_far*/) {}
  virtual void finished(const std::vector<Record>& records) = 0;
};

/// The prepared cases and limits of a group. A lost runner marks its current track; others are prepared in a
/// fresh process (a new epoch). All calls throw Interrupted.
class PreparedTracks {
 public:
  /// The arguments must outlive this.
  PreparedTracks(GroupResult& result, Workers& workers, const std::atomic<bool>& interrupted)
      : result_(&result), workers_(&workers), interrupted_(&interrupted) {}

  /// Reverses the order in every other process, as memory layout depends on it.
  void prepare_all();
  void prepare(Track& track);
  void conclude_all();
  /// Sends no request to quit.
  void stop_runners();
  void renew_runners();
  double start_ns() const;
  /// Ends runners that have not answered by `ns` and marks their current case. Their other prepared cases may
  /// be sampled once by `grace_ns`, unless restarting takes too long; then calls throw OutOfTime.
  void set_prepare_deadline(double ns, double grace_ns, std::string reason);
  /// From `ns` on, calls throw OutOfTime.
  void set_deadline(double ns);
  void mark_out_of_time();
  void next_epoch() { ++epoch_; }
  std::uint32_t epoch() const { return epoch_; }

  /// A lost runner marks `track`; its other tracks are prepared again. Throws RunnerLost for a final loss.
  void run_guarded(Track& track, const std::function<void(Worker&)>& body);
  /// For optional work; keeps `track`. Returns the reason of a loss, or "".
  std::string run_optional(const Track& track, const std::function<void(Worker&)>& body);
  /// Nothing on failure or loss.
  std::optional<SampleReply> sample(Track& track, const SampleRequest& request);
  void fail(Track& track, const std::string& reason);

  std::vector<Track*> all();
  /// Leaves out ping-pong limits, which start a round.
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
  std::string out_of_time_{};  ///< for cases that were not reached
  bool is_closed_ = false;
};

/// Decides which cases are precise enough for every other round. They share rounds, and baselines are in all,
/// so that ratios stay paired. A case settles by the rule that would end it alone, and unsettles if its
/// interval grows. Ignores samples of the same round.
class SettledCases {
 public:
  SettledCases(const StopRule& rule, std::size_t cases) : stopping_(cases, Stopping(rule)), settled_(cases) {}

  /// `half_widths`: by case. `first_round`: of this process.
  void look(std::span<const Track> cases, std::span<const double> half_widths, double elapsed_ns,
            std::uint32_t first_round);

  bool is_due(std::size_t index, std::uint32_t round) const { return round % 2 == 0 || !spared_.at(index); }

 private:
  std::vector<Stopping> stopping_;
  std::vector<bool> settled_;
  std::vector<bool> spared_ = std::vector<bool>(stopping_.size());
};

/// Of live cases; 0 without one.
std::size_t fewest_readings(std::span<const Track> cases, std::uint32_t first_round);

/// Rule for one of `processes`: the precision goal is wider by sqrt(processes).
StopRule process_share(const StopRule& rule, int processes);

/// CPU cases sampled since `first_round` whose runner can count.
std::vector<Track*> countable(std::vector<Track>& cases, const std::vector<RunnerOffer>& offers,
                              std::uint32_t first_round);

/// Counts a tenth of the samples since `first_round`, one to five passes, after sampling: no counter is open
/// while the clock runs. Notes the first failure and stops. Throws like `worker`.
void count_passes(Track& track, Worker& worker, std::uint32_t epoch, std::uint32_t first_round);

/// Requested for a session.
struct MeasuringOptions {
  StopRule stop;
  bool limits = true;
  bool counts = true;               ///< hardware events where possible
  double sample_ns = 5e6;           ///< minimum time of a sample
  std::uint32_t warmup = 0;         ///< discarded samples of each case in each process
  bool subtracts_overhead = false;  ///< subtract clock reads and Python call overhead
  bool strict = false;              ///< fail cases that accumulate in less than f32
  std::string traces{};             ///< folder, or empty
  TuningStore* tuning = nullptr;    ///< null: the implementations decide
  bool tunes = true;                ///< tune cases without a stored choice
};

/// For one group.
struct RoundSettings : MeasuringOptions {
  int processes = 1;
  std::uint64_t seed = 1;
  std::function<double()> now_ns{};                           ///< for the time caps
  double end_ns = std::numeric_limits<double>::infinity();    ///< of the run
  double share_ns = std::numeric_limits<double>::infinity();  ///< of the time left, for this group
  std::string out_of_time{};                                  ///< for cases not reached by then
  std::function<void(const GroupResult&)> on_round = [](const GroupResult&) {};
};

GroupResult unreached(const Group& group, const std::string& reason);

/// Measures one group. Each fresh process prepares and calibrates cases and limits, then samples each once
/// per round, in random order, until its own readings meet the stop rule: the interval includes the variation
/// between processes. Failed cases and lost runners are marked; others go on. At end_ns, sampling ends after
/// the current sample.
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
  /// The first process may have served other groups, as fresh ones take too long.
  bool keeps_runners() const;
  bool recall_variant(Track& track);
  void tune_all();
  void tune(Track& track, int first_id);
  void refuse_coarse_sums();
  void add_limits();
  void calibrate_all();
  std::vector<const Track*> limit_representatives() const;
  void drop_loose_limits();
  /// To a case's length, less if there are many limits.
  void lengthen_limits();
  void warm_up();
  /// Fewer processes if preparing them takes too long.
  void limit_processes();
  StopRule rule_of_process() const;
  void sample_rounds();
  void sample_round();
  bool should_end(const StopRule& rule, Stopping& stopping);
  void pause_beaten_limits();
  void count_cases();
  bool trace_cases();
  void refuse_traces();
  void calibrate(Track& track, double target_ns);
  void sample(Track& track);
  double sampling_ns() const;
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
  std::uint32_t first_round_ = 0;         ///< of this process
  std::size_t next_look_ = 0;             ///< rounds of this process
  std::optional<double> sampling_since_;  ///< of this process
  double sampled_before_ns_ = 0;
  double prepare_by_ns_ = std::numeric_limits<double>::infinity();
  double prepared_ns_ = 0;  ///< by the first process
};

}  // namespace headroom
