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

/// Finds the iterations for a sample of at least the target time. Until done(), call add() with the time of
/// next_iterations().
///
/// Two consecutive readings must reach the target, as one may be preempted. Below it the count grows to 1.4
/// times the prediction, at most tenfold (Google Benchmark's rule). An iteration of ten targets is accepted
/// at once; no sample takes longer with setup.
class Calibration {
 public:
  static constexpr std::uint64_t kMaxIterations = std::uint64_t{1} << 40;

  /// Throws std::invalid_argument unless the target is positive and finite.
  explicit Calibration(double target_ns);

  std::uint64_t next_iterations() const { return next_; }

  /// `iterations` >= 1 took `elapsed_ns`, 0 if the clock did not move. `waited_ns` includes untimed setup; 0
  /// means `elapsed_ns`.
  void add(std::uint64_t iterations, double elapsed_ns, double waited_ns = 0);

  bool done() const { return done_; }
  std::uint64_t iterations() const { return next_; }

  /// The faster of the last readings of the current count; 0 before the first.
  double ns_per_iteration() const { return ns_per_iteration_.value_or(0); }
  /// Wall time, setup included.
  double waited_ns_per_iteration() const { return waited_ns_per_iteration_; }

 private:
  void grow(std::uint64_t iterations, double elapsed_ns, double most);

  double target_ns_;
  std::uint64_t next_ = 1;
  bool reached_ = false;  ///< last reading had next_ iterations and reached the target
  bool waits_ = false;    ///< last reading had next_ iterations and took too long
  bool done_ = false;
  double waited_ns_per_iteration_ = 0;
  std::optional<double> ns_per_iteration_;
};

struct CalibratedCase {
  std::uint64_t iterations = 1;
  double ns_per_iteration = 0;  ///< wall time, setup included
};

/// One count for all compared cases, as different counts bias ratios (by 1.2 % with nanobench): the largest
/// needed, while the slowest sample stays within 32 targets. 1 for no cases.
std::uint64_t shared_iterations(std::span<const CalibratedCase> cases, double target_ns);

/// A key has all that a choice depends on except the machine.
class TuningStore {
 public:
  virtual ~TuningStore() = default;
  /// Nothing if not yet chosen.
  virtual std::optional<std::string> chosen(const std::string& key) = 0;
  virtual void choose(const std::string& key, const std::string& variant) = 0;
};

/// "gemv D=1024 dtype=bf16 native 2 threads cold".
std::string tuning_key(const CaseSpec& spec);

struct TuningRule {
  double sample_ns = 1e6;    ///< minimum time of a sample
  double max_time_ns = 8e8;  ///< up to three times as much if undecided
  std::uint64_t seed = 1;
  std::function<double()> now_ns;
};

/// The fastest variant. Its case stays prepared.
struct TuningResult {
  std::string variant;
  int id = 0;  ///< number in the runner protocol
  CaseInfo info;
  bool settled = false;  ///< enough rounds to store the choice
};

/// Samples the variants of `planned` in random order, dropping slow ones. They become cases from `first_id`
/// on; all but the result are released. Nothing if none could be sampled. Throws RunnerLost, or Interrupted
/// if `interrupted` is set.
std::optional<TuningResult> fastest_variant(Worker& worker, const PlannedCase& planned, int first_id,
                                            const TuningRule& rule, const std::atomic<bool>& interrupted);

}  // namespace headroom
