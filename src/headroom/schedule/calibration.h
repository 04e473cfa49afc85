// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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

  /// Throws std::invalid_argument where the target is not a positive time.
  explicit Calibration(double target_ns);

  /// How many iterations to time next; once done, the answer.
  std::uint64_t next_iterations() const { return next_; }

  /// `iterations` >= 1 took `elapsed_ns` together; 0 where the clock did not move. `waited_ns`: until the
  /// reading was there, with what is not timed (a setup of each iteration); as long as the reading where not
  /// told.
  void add(std::uint64_t iterations, double elapsed_ns, double waited_ns = 0);

  bool done() const { return done_; }
  std::uint64_t iterations() const { return next_; }

  /// The faster of the last readings of the present count, per iteration; 0 before the first reading.
  double ns_per_iteration() const { return ns_per_iteration_.value_or(0); }
  /// How long the last reading was waited for, per iteration.
  double waited_ns_per_iteration() const { return waited_ns_per_iteration_; }

 private:
  void grow(std::uint64_t iterations, double elapsed_ns, double most);

  double target_ns_;
  std::uint64_t next_ = 1;
  bool reached_ = false;  ///< the last reading was of next_ iterations and reached the target
  bool waits_ = false;    ///< the last reading was of next_ iterations, and waited for too long
  bool done_ = false;
  double waited_ns_per_iteration_ = 0;
  std::optional<double> ns_per_iteration_;
};

/// What calibration found for one case.
struct CalibratedCase {
  std::uint64_t iterations = 1;
  double ns_per_iteration = 0;  ///< as long as it is waited for
};

/// One count of iterations for cases that are compared: a different count each gives them a different share
/// of the cost of starting a sample, a bias of its own (1.2 % measured with nanobench).
///
/// The rule: the largest count that any of them needs, so that every sample reaches the target. Where that
/// would make the slowest case's sample longer than 32 targets, only as many as keep it there: the samples of
/// a much faster case are then shorter than the target, which a difference that large can bear. 1 for no
/// cases.
std::uint64_t shared_iterations(std::span<const CalibratedCase> cases, double target_ns);

}  // namespace headroom
