// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "headroom/experiment/experiment.h"
#include "headroom/experiment/state.h"
#include "headroom/runner/protocol.h"

namespace headroom {

/// A prepared case: the experiment's function, suspended inside State::measure on a thread of its own.
/// Several of them live in one runner so that their samples can be interleaved, but control is handed over,
/// never shared: while one thread runs, the caller and all other cases wait.
class CaseThread final : private SampleSource {
 public:
  /// Starts the experiment and returns when it waits in measure(), or ended without getting there.
  CaseThread(const Experiment& experiment, CaseSpec spec, SharedObjects& shared);
  /// Lets measure() return and waits for the end of the function.
  ~CaseThread() override;
  /// The same, and hears what the case says of all its samples. Nothing can be asked of it afterwards.
  Conclusion conclude();
  CaseThread(const CaseThread&) = delete;
  CaseThread& operator=(const CaseThread&) = delete;

  /// Valid and constant while this lives, whatever happens in later samples.
  const PrepareReply& prepared() const { return prepared_; }
  /// Only after prepared() said that the case is ready.
  SampleReply sample(const SampleRequest& request);

 private:
  enum class Turn { kCaller, kCase };

  void ready(const CaseInfo& info) override;
  std::optional<SampleRequest> next() override;
  void deliver(const Sample& sample) override;
  bool is_concluding() const override { return concluding_; }

  void end();
  void run(const Experiment& experiment, const CaseSpec& spec, SharedObjects& shared);
  void hand_over_to(Turn turn);
  void await(Turn turn);

  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::kCase;
  bool released_ = false;
  bool concluding_ = false;
  bool is_ready_ = false;
  bool ended_ = false;
  PrepareReply prepared_;
  std::optional<SampleRequest> request_;
  SampleReply reply_;
  Conclusion conclusion_;
  std::thread thread_;
};

}  // namespace headroom
