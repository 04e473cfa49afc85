// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/base/json.h"

namespace headroom {

/// The language between a command line and the processes of a job of ranks: JSON, one message a line, over
/// the descriptor whose number is in kSocketVariable. Each rank speaks first (RankHello), as soon as it runs;
/// after that all are asked the same, and each answers with one line, which is {"error": reason} where it
/// cannot:
///
///   {"do": "meet", "timeout_s": 70}       -> {"met": 4}              connected with all others
///   {"do": "backend", "backend": "nccl"}  -> {"backend": "nccl"}     has what that needs
///   and whatever protocol.h says of a runner: schedule/rank_runner.h makes one answer of theirs.
/// A rank whose RankHello has "ids" repeats the "id" of the request in its answer, errors included. It says
/// nothing that it was not asked, and ends when its channel closes.

/// What a rank is told that it was asked, see RankHello::arguments.
inline constexpr const char* kRankArgumentsVariable = "HEADROOM_RANK_ARGUMENTS";

struct RankHello {
  int rank = 0, size = 1;
  std::int64_t pid = 0;
  std::string library;                ///< "libtorch 1.13.1"
  std::string no_counters;            ///< why instructions are not counted there; empty where they are
  std::string arguments;              ///< of kRankArgumentsVariable, for the leader to compare
  std::string host{};                 ///< name of its machine
  std::vector<int> cores{};           ///< of that machine, which it keeps to; empty where it does not say
  std::optional<BlasLibrary> blas{};  ///< that it computes with; empty: it tells of none
  bool ids = false;                   ///< its answers repeat the "id" of their request; absent: they do not
};

Json to_json(const RankHello& hello);
/// Throws Error naming what is missing or of another type.
RankHello rank_hello_from_json(const Json& json);

}  // namespace headroom
