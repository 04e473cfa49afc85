// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "headroom/schedule/plan.h"
#include "headroom/schedule/runner.h"

namespace headroom {

/// Finds how many iterations make a sample that lasts at least the target time.
///
/// Feed it with readings until done():
///
///     Calibration calibration(target_ns);
///     while (!calibration.done()) {
///       const std::uint64_t iterations = calibration.next_iterations();
///       calibration.add(iterations, time_of(iterations));
///     }
///
/// A count is accepted when two consecutive readings of it reach the target: a single one may have been
/// preempted, and believing it would make all samples far too short. Below the target the count grows to 1.4
/// times what the reading predicts, at most tenfold (Google Benchmark's rule). A single iteration that lasts
/// ten targets or more is accepted at its first reading: a second would cost more time than it can save. Nor
/// do iterations whose setup takes long become so many that a sample is waited for longer than that.
class Calibration {
 public:
  static constexpr std::uint64_t kMaxIterations = std::uint64_t{1} << 40;

  /// Throws std::invalid_argument if the target is not a positive time.
  explicit Calibration(double target_ns);

  /// Returns the number of iterations to time next, or the result once done.
  std::uint64_t next_iterations() const { return next_; }

  /// Adds a reading. `iterations` >= 1 took `elapsed_ns` in all, 0 if the clock did not move. `waited_ns`
  /// includes untimed work such as setup; 0 means `elapsed_ns`.
  void add(std::uint64_t iterations, double elapsed_ns, double waited_ns = 0);

  bool done() const { return done_; }
  std::uint64_t iterations() const { return next_; }

  /// Returns the faster of the last readings of the current count, per iteration; 0 before the first.
  double ns_per_iteration() const { return ns_per_iteration_.value_or(0); }
  /// Returns the wall time of the last reading, per iteration.
  double waited_ns_per_iteration() const { return waited_ns_per_iteration_; }

 private:
  void grow(std::uint64_t iterations, double elapsed_ns, double most);

  double target_ns_;
  std::uint64_t next_ = 1;
  bool reached_ = false;  ///< last reading had next_ iterations and reached the target
  bool waits_ = false;    ///< last reading had next_ iterations and its wall time was too long
  bool done_ = false;
  double waited_ns_per_iteration_ = 0;
  std::optional<double> ns_per_iteration_;
};

/// The calibration of one case.
struct CalibratedCase {
  std::uint64_t iterations = 1;
  double ns_per_iteration = 0;  ///< wall time, setup included
};

///
/// Returns one iteration count for all compared cases. Different counts would give each case a different
/// share of the cost of starting a sample, a bias (1.2 % measured with nanobench).
///
/// The result is the largest count that any case needs, so that every sample reaches the target, but at most
/// what keeps the slowest case's sample within 32 targets. Samples of a much faster case are then shorter
/// than the target; a difference that large tolerates it. 1 for no cases.
std::uint64_t shared_iterations(std::span<const CalibratedCase> cases, double target_ns);

/// Storage of earlier variant choices. A key contains everything that a choice depends on except the machine.
class TuningStore {
 public:
  virtual ~TuningStore() = default;
  /// Returns the stored variant, or nothing if there is none or it must be chosen again.
  virtual std::optional<std::string> chosen(const std::string& key) = 0;
  virtual void choose(const std::string& key, const std::string& variant) = 0;
};

/// "gemv D=1024 dtype=bf16 native 2 threads cold".
std::string tuning_key(const CaseSpec& spec);

/// How long to search for the fastest variant of one case.
struct TuningRule {
  double sample_ns = 1e6;    ///< least time of one sample
  double max_time_ns = 8e8;  ///< of sampling; up to three times as much if undecided
  std::uint64_t seed = 1;    ///< of the random order within rounds
  std::function<double()> now_ns;
};

/// The fastest variant. It stays prepared.
struct TuningResult {
  std::string variant;
  int id = 0;  ///< number in the runner protocol
  CaseInfo info;
  bool settled = false;  ///< enough rounds to store the choice
};

/// Samples the variants of `planned` in rounds of random order and drops those that are behind: clearly
/// slower ones after a few rounds, closer ones later. Each variant is a case numbered from `first_id`.
/// Releases all but the result; returns nothing if none could be prepared and sampled. Throws RunnerLost, and
/// Interrupted if `interrupted` becomes true.
std::optional<TuningResult> fastest_variant(Worker& worker, const PlannedCase& planned, int first_id,
                                            const TuningRule& rule, const std::atomic<bool>& interrupted);

}  // namespace headroom
