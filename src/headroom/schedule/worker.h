// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/runner/protocol.h"

namespace headroom {

/// Thrown when a runner died, hangs, or says what the protocol does not allow. What it had given is kept.
/// `reason` reads after "the runner": "was killed by signal 11 (Segmentation fault)"; of one that is final,
/// which ends the run, it is a sentence.
struct RunnerLost {
  std::string reason;
  bool is_final = false;
};
/// A runner as the scheduler sees it. All calls throw RunnerLost or Interrupted.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual std::int64_t pid() const = 0;
  virtual PrepareReply prepare(int id, const CaseSpec& spec) = 0;
  virtual SampleReply sample(int id, const SampleRequest& request) = 0;
  /// Counts iterations of a case beside its samples.
  virtual CountReply count(int id, const SampleRequest& request) = 0;
  /// Why there is no trace of one call in `file`; empty when there is.
  virtual std::string trace(int id, const std::string& file) = 0;
  virtual void release(int id) = 0;
  /// The same for a case that has all its samples: what it says of them, in a job of ranks what each does.
  virtual std::vector<Conclusion> conclude(int id) = 0;
};

/// The runners of a session, by index.
class Workers {
 public:
  virtual ~Workers() = default;
  /// Starts the runner if it does not run.
  virtual Worker& at(std::size_t runner) = 0;
  /// Ends the runner; the next at() starts a fresh process.
  virtual void stop(std::size_t runner) = 0;
};

}  // namespace headroom
