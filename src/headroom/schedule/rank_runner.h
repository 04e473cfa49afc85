// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "headroom/ranks/rank_conversation.h"
#include "headroom/schedule/runner.h"

namespace headroom {

/// The ranks of a job as one runner: all are asked the same in the language of runner/protocol.h, each in its
/// own words, and their answers are one. A sample is as long as that of the slowest rank; a rank that takes
/// no part in a case measures that it took 0 ns. A case that one rank cannot prepare, or fails at, has
/// failed. A rank that is lost ends the job: RunnerLost is final.
class RankRunner final : public Runner {
 public:
  /// Waits until the ranks have met. Throws what RankConversation's constructor throws.
  RankRunner(RankGroup ranks, RankPatience patience, const std::atomic<bool>& interrupted);

  /// Throws what RankConversation::require_backend throws.
  void require_backend(const std::string& backend) { conversation_.require_backend(backend); }

  const Hello& hello() const override { return hello_; }
  RunnerDescription describe() override;
  void finish() override;

  /// Of rank 0, -1 where others started it.
  std::int64_t pid() const override { return ranks_.pid(0); }
  PrepareReply prepare(int id, const CaseSpec& spec) override;
  SampleReply sample(int id, const SampleRequest& request) override;
  CountReply count(int id, const SampleRequest& request) override;
  std::string trace(int id, const std::string& file) override;
  void release(int id) override;
  std::vector<Conclusion> conclude(int id) override;

 private:
  std::vector<Json> ask(const Json& request, const std::string& awaited);
  template <typename Decode>
  auto understood(Decode&& decode);

  RankGroup ranks_;
  RankConversation conversation_;
  Hello hello_;
  std::map<int, std::string> titles_;  ///< of the cases that are prepared
};

}  // namespace headroom
