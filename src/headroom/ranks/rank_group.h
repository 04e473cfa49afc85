// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"
#include "headroom/ranks/collective_ring.h"
#include "headroom/ranks/rank_environment.h"

namespace headroom {

/// Holds a free port for a program that listens with SO_REUSEADDR, as c10d's TCPStore does.
class ReservedPort {
 public:
  /// Prefers `wanted`. Throws Error if no port is free.
  explicit ReservedPort(std::uint16_t wanted = 0);

  std::uint16_t number() const { return number_; }

 private:
  Descriptor socket_;
  std::uint16_t number_ = 0;
};

// Protocol between a command line and the processes of a rank job: a line of JSON each, over the descriptor
// in kSocketVariable. Each rank greets with RankHello. Then all get the same request and each answers with
// one line, or with {"error": reason}:
//
//   {"do": "meet", "timeout_s": 70}       -> {"met": 4}              connected with all others
//   {"do": "backend", "backend": "nccl"}  -> {"backend": "nccl"}     usable
//   and the requests of runner/protocol.h, whose answers schedule/runner.cpp combines.
//
// A rank with RankHello::ids repeats the request's "id" in its answer, errors included. It sends nothing
// else, and ends when its channel closes.

/// Sets RankHello::arguments.
inline constexpr const char* kRankArgumentsVariable = "HEADROOM_RANK_ARGUMENTS";

struct RankLibrary {
  std::string name;     ///< "libtorch"
  std::string version;  ///< "1.13.1"

  bool operator==(const RankLibrary&) const = default;
};

struct RankHello {
  int rank = 0, size = 1;
  std::int64_t pid = 0;
  RankLibrary library{};
  std::string no_counters;  ///< why instructions are not counted, or empty
  std::string arguments;    ///< from kRankArgumentsVariable; must be equal
  std::string host{};
  std::vector<int> cores{};  ///< bound cores; empty if unknown
  std::optional<BlasLibrary> blas{};
  bool ids = false;
};

Json to_json(const RankHello& hello);
/// Throws Error for a missing or mistyped member.
RankHello rank_hello_from_json(const Json& json);

/// Thrown if ranks died, hang or never connected, after ending the others. The message has last lines of
/// standard error and collectives.
class RankLost : public Error {
 public:
  using Error::Error;
};

struct RankCommand {
  std::vector<std::string> arguments;                            ///< arguments[0] is the program
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to rank_variables()
  std::string channel_variable;                                  ///< for the rank's descriptor
  int ranks = 1;
  std::uint16_t port = 0;  ///< meeting point; 0 or in use: any
};

/// `child` is set if it is our process.
struct RankMember {
  Channel channel;
  std::optional<Child> child{};
  std::optional<CollectiveRing> collectives{};  ///< of our child process
};

/// Starts a remote rank's report of its end. Invalid in JSON.
inline constexpr char kLostMark = '\x01';
/// Requests a remote rank's collectives; starts the answer, before to_json(CollectiveHistory).
inline constexpr char kCollectivesMark = '\x02';
/// Lets a remote rank end; a connection closed without it lost its leader.
inline constexpr char kEndMark = '\x03';

/// Leads the ranks of a job: one line to all, one line from each. A rank that ends early or is late ends the
/// group. No process outlives this object.
class RankGroup {
 public:
  /// Throws Error if the program cannot be started.
  explicit RankGroup(const RankCommand& command);
  /// Ordered by rank.
  RankGroup(std::vector<RankMember> members, ReservedPort port)
      : port_(std::move(port)), members_(std::move(members)) {}
  ~RankGroup();
  RankGroup(RankGroup&&) noexcept = default;
  RankGroup& operator=(RankGroup&&) = delete;

  int size() const { return static_cast<int>(members_.size()); }
  pid_t pid(int rank) const;  ///< -1 if not our child
  std::uint16_t port() const { return port_.number(); }

  /// Throws RankLost after an unrequested line or end.
  void require_quiet();
  [[noreturn]] void throw_lost(std::size_t rank, const std::string& what);

  /// The next gather() reports lost ranks.
  void send(const std::string& line);
  /// Returns the next line of each rank; nothing if `give_up`, polled a few times a second, returns true (the
  /// next call returns the lines received). Throws RankLost when a rank ends or is late; `awaited` names the
  /// answer ("the end of its start").
  std::optional<std::vector<std::string>> gather(std::chrono::milliseconds timeout,
                                                 const std::string& awaited,
                                                 const std::function<bool()>& give_up = {});
  /// Throws RankLost if a rank fails or is late.
  void finish(std::chrono::milliseconds timeout);

 private:
  void wait_for_input(std::chrono::milliseconds longest);
  void receive_lines(std::vector<std::optional<std::string>>& lines);
  void require_answer(std::size_t rank, const std::string& line);
  std::string exit_description(std::size_t rank);
  RankHistories histories();
  std::optional<CollectiveHistory> remote_history(RankMember& member);
  [[noreturn]] void report_gone(std::size_t first);
  [[noreturn]] void report_missing(const std::vector<std::size_t>& ranks, const std::string& did_not,
                                   std::chrono::milliseconds timeout);
  void end_all();

  ReservedPort port_;
  std::vector<RankMember> members_;
  std::vector<std::optional<std::string>> pending_;
};

/// Throws Error.
RankMember start_rank(const RankCommand& command, const RankPlace& place);

/// "; its last output: a | b" from standard error, or "".
std::string last_output(const Child& child);

struct RankTimeouts {
  std::chrono::milliseconds start{60'000};  ///< to start and meet
  std::chrono::milliseconds reply{60'000};  ///< to answer
};

/// Asks all ranks. All calls throw RankLost, and Interrupted if the user wants to stop and a rank does not
/// answer.
class RankConversation {
 public:
  /// Waits until the ranks have met. Throws Error for an invalid greeting, Interrupted on `give_up`.
  RankConversation(RankGroup& ranks, RankTimeouts timeouts, std::function<bool()> give_up);

  /// By rank.
  const std::vector<RankHello>& hellos() const { return hellos_; }
  /// By rank. `awaited` is for errors ("20 cycles of add"). Throws RankLost for an unrequested or mismatched
  /// line.
  std::vector<Json> ask(Json request, const std::string& awaited);
  /// Throws Error with the first rank's reason.
  void require_backend(const std::string& backend);
  bool gives_up() const { return give_up_ && give_up_(); }

 private:
  void require_id(std::size_t rank, const Json& reply);

  RankGroup& ranks_;
  RankTimeouts timeouts_;
  std::function<bool()> give_up_;
  std::vector<RankHello> hellos_;
  std::uint64_t last_request_ = 0;
};

/// The first rank's reason, or "".
std::string refusal(const std::vector<Json>& replies);

/// "ranks 0, 2 share core 0 ..."; if unbound, a first machine with more threads of ranks than `cpus`; or
/// empty.
std::string core_sharing(const std::vector<RankHello>& hellos, int threads, std::size_t cpus);

}  // namespace headroom
