// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "headroom/schedule/limits.h"
#include "headroom/schedule/observer.h"
#include "headroom/schedule/plan.h"
#include "headroom/schedule/prepared_tracks.h"
#include "headroom/schedule/settled_cases.h"
#include "headroom/schedule/track.h"
#include "headroom/schedule/tuning.h"
#include "headroom/schedule/worker.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// How the rounds of a group are run.
struct RoundSettings {
  StopRule stop;
  double sample_ns = 5e6;           ///< least time of one sample
  int processes = 1;                ///< fresh runner processes that share the samples
  std::uint32_t warmup = 0;         ///< samples of each case in each process that are not kept
  bool limits = true;               ///< sample the machine's limits in the same rounds
  bool subtracts_overhead = false;  ///< from each time what measuring it costs
  bool strict = false;              ///< a case that sums in less than f32 fails
  bool counts = true;               ///< have what the hardware counts of cases, where it does
  std::string traces{};             ///< folder for a trace of each case; empty: none
  bool tunes = true;                ///< choose variants where `tuning` knows of none
  TuningStore* tuning = nullptr;    ///< which variants were fastest before; null: the implementations decide
  std::uint64_t seed = 1;           ///< of the order within the rounds
  std::function<double()> now_ns;   ///< the clock of the time caps
  /// Called when a round is over, before the next one begins.
  std::function<void(const GroupResult&)> on_round = [](const GroupResult&) {};
};

/// Measures one group: prepares its cases and the limits that bound them, calibrates, and samples one of each
/// per round in a random order, exactly one at any time, until the stop rule fires; all that again in each
/// fresh process. A case that is precise while another is not is sampled in every other round (SettledCases),
/// a limit that bounds nothing no more (beaten_limits). Each process gets an equal share of the samples and
/// of the time, and stops by its own readings: how much processes differ shows in the final interval, but no
/// number of samples in one of them would narrow that. A case that fails, or whose runner dies, is marked;
/// the others go on.
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
  bool recall_variant(Track& track);
  void tune_all();
  void tune(Track& track, int first_id);
  void refuse_coarse_sums();
  void add_limits();
  void calibrate_all();
  std::vector<const Track*> first_of_each_limits() const;
  void drop_loose_limits();
  /// Samples of limits as long as a sample of a case, or shorter where there are many.
  void lengthen_limits();
  void warm_up();
  void sample_rounds();
  void sample_round();
  bool should_end(const StopRule& rule, Stopping& stopping);
  void rest_beaten_limits();
  void count_cases();
  /// Whether any runner was asked to record for the session.
  bool trace_cases();
  void calibrate(Track& track, double target_ns);
  void sample(Track& track);
  double sampling_ns() const;
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
  std::size_t next_look_ = 0;             ///< samples of this process at which to look at the intervals again
  std::optional<double> sampling_since_;  ///< start of sampling in this process
  double sampled_before_ns_ = 0;          ///< time spent sampling in earlier processes
};

}  // namespace headroom
