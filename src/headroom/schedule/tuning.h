// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "headroom/schedule/plan.h"
#include "headroom/schedule/worker.h"

namespace headroom {

/// The choices that were made before, wherever they are kept. A key says everything that a choice depends on
/// but the machine.
class TuningStore {
 public:
  virtual ~TuningStore() = default;
  /// The variant that was chosen; nothing where none was, or where it shall be chosen anew.
  virtual std::optional<std::string> chosen(const std::string& key) = 0;
  virtual void choose(const std::string& key, const std::string& variant) = 0;
};

/// "gemv D=1024 dtype=bf16 native 2 threads cold".
std::string tuning_key(const CaseSpec& spec);

/// How long to look for the fastest variant of one case.
struct TuningRule {
  double sample_ns = 1e6;    ///< least time of one sample
  double max_time_ns = 8e8;  ///< of sampling; up to three times as much where that decides
  std::uint64_t seed = 1;    ///< of the order within the rounds
  std::function<double()> now_ns;
};

/// The fastest variant, which stays prepared.
struct TuningResult {
  std::string variant;
  int id = 0;  ///< by which the runner knows it
  CaseInfo info;
  bool settled = false;  ///< seen in enough rounds to be remembered
};

/// Prepares each variant of `planned` as a case of its own, `first_id` and up, samples one of each per round
/// in a new random order, and leaves out those that are behind: after a few rounds what is far from the best,
/// later what is near. Releases all but the one that it returns; nothing where none could be prepared and
/// sampled. Throws RunnerLost, and Interrupted where `interrupted` becomes true.
std::optional<TuningResult> fastest_variant(Worker& worker, const PlannedCase& planned, int first_id,
                                            const TuningRule& rule, const std::atomic<bool>& interrupted);

}  // namespace headroom
