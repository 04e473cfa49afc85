// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/ranks/rank_hello.h"

namespace headroom {

struct RankPatience {
  std::chrono::milliseconds start{60'000};  ///< for the ranks to start and to meet
  std::chrono::milliseconds reply{60'000};  ///< for an answer
};

/// Requests to all ranks of a group and the answer of each. All calls throw RankLost where a rank is lost,
/// and Interrupted where the user wants to stop and a rank does not answer.
class RankConversation {
 public:
  /// Waits until the ranks have met. Throws Error when they say what this does not understand, or nothing.
  /// `give_up` is asked while waiting; said yes, it throws Interrupted.
  RankConversation(RankGroup& ranks, RankPatience patience, std::function<bool()> give_up);

  /// What each rank said of itself.
  const std::vector<RankHello>& hellos() const { return hellos_; }
  /// The answers, by rank; `awaited` says in errors what the ranks had to give ("20 cycles of add"). Throws
  /// RankLost, too, where a rank said something that it was not asked, or answers another request: the job is
  /// over then, as what came next could be taken for what it is not.
  std::vector<Json> ask(Json request, const std::string& awaited);
  /// Throws Error, with the reason of the first rank that gives one, where a rank cannot exchange data so
  /// ("nccl").
  void require_backend(const std::string& backend);
  /// Whether the user wants to stop.
  bool gives_up() const { return give_up_ && give_up_(); }

 private:
  void require_id(std::size_t rank, const Json& reply);

  RankGroup& ranks_;
  RankPatience patience_;
  std::function<bool()> give_up_;
  std::vector<RankHello> hellos_;
  std::uint64_t asked_ = 0;  ///< the id of the last request
};

/// Why the first rank that refused did; empty where none did.
std::string refusal(const std::vector<Json>& replies);

}  // namespace headroom
