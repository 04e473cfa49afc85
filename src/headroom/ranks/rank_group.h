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

/// A free TCP port of this machine, held for a program that listens on it with SO_REUSEADDR, as c10d's
/// TCPStore does. While held, the kernel gives it only to programs with SO_REUSEADDR.
class ReservedPort {
 public:
  /// Takes `wanted` if it is free, else any port. Throws Error if there is none.
  explicit ReservedPort(std::uint16_t wanted = 0);

  std::uint16_t number() const { return number_; }

 private:
  Descriptor socket_;
  std::uint16_t number_ = 0;
};

// The protocol between a command line and the processes of a rank job: JSON, one message per line, over the
// descriptor in kSocketVariable. Each rank greets first with RankHello. Then all ranks get the same request
// and each answers with one line, or with {"error": reason}:
//
//   {"do": "meet", "timeout_s": 70}       -> {"met": 4}              connected with all others
//   {"do": "backend", "backend": "nccl"}  -> {"backend": "nccl"}     the backend is usable
//   and the requests of runner/protocol.h, whose answers schedule/runner.cpp combines into one.
//
// A rank whose RankHello has "ids" repeats the "id" of the request in its answer, errors included. It sends
// nothing else, and ends when its channel closes.

/// Variable with the value of RankHello::arguments.
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
  std::string no_counters;            ///< reason why instructions are not counted; empty if they are
  std::string arguments;              ///< from kRankArgumentsVariable; the leader compares them
  std::string host{};                 ///< host name
  std::vector<int> cores{};           ///< cores that it is bound to; empty if unknown
  std::optional<BlasLibrary> blas{};  ///< empty if unknown
  bool ids = false;                   ///< answers repeat the "id" of the request; default no
};

Json to_json(const RankHello& hello);
/// Throws Error naming a member that is missing or of the wrong type.
RankHello rank_hello_from_json(const Json& json);

/// Thrown if ranks died, hang or never connected. Names the ranks, their last lines on standard error, and
/// the ranks that others wait for in a collective; the last collectives of each follow the first line. The
/// other ranks have been ended.
class RankLost : public Error {
 public:
  using Error::Error;
};

/// How to start rank processes on this machine.
struct RankCommand {
  std::vector<std::string> arguments;  ///< arguments[0] is the program, the same for each rank
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to rank_variables()
  std::string channel_variable;  ///< variable with the rank's descriptor for lines
  int ranks = 1;
  std::uint16_t port = 0;  ///< where the ranks meet; 0 or in use: any
};

/// A rank as the leader sees it: its channel, and its process if that is our child.
struct RankMember {
  Channel channel;
  std::optional<Child> child{};
  std::optional<CollectiveRing> collectives{};  ///< of our child process
};

/// First character of a line from a remote rank (other machine or launcher) that reports its end instead of
/// an answer. Not valid in JSON.
inline constexpr char kLostMark = '\x01';
/// A line of only this character requests a remote rank's collectives. The answer begins with it, followed by
/// to_json(CollectiveHistory).
inline constexpr char kCollectivesMark = '\x02';
/// A line of only this character lets a remote rank end. A connection that closes without it lost its leader.
inline constexpr char kEndMark = '\x03';

/// The ranks of a job, led from this process: a line to all, one line from each. A rank that ends early or
/// does not answer in time ends the group. No process outlives this object.
class RankGroup {
 public:
  /// Starts the ranks. Throws Error if the program cannot be started.
  explicit RankGroup(const RankCommand& command);
  /// Takes ranks started elsewhere, in order of rank.
  RankGroup(std::vector<RankMember> members, ReservedPort port)
      : port_(std::move(port)), members_(std::move(members)) {}
  ~RankGroup();
  RankGroup(RankGroup&&) noexcept = default;
  RankGroup& operator=(RankGroup&&) = delete;

  int size() const { return static_cast<int>(members_.size()); }
  pid_t pid(int rank) const;  ///< -1 if it is not our child
  /// The port where the ranks meet.
  std::uint16_t port() const { return port_.number(); }

  /// Throws RankLost if a rank sent an unrequested line or its remote process ended.
  void require_quiet();
  /// Ends all ranks because `rank` broke the protocol. Throws RankLost.
  [[noreturn]] void lose(std::size_t rank, const std::string& what);

  /// Sends a line to every rank. The next gather() reports a rank that is gone.
  void send(const std::string& line);
  /// Returns the next line of each rank. Nothing if `give_up` (asked a few times a second) returns true; the
  /// next call then returns the lines received so far. Throws RankLost when a rank ends or the time is over;
  /// `awaited` names the expected answer in the error ("the end of its start").
  std::optional<std::vector<std::string>> gather(std::chrono::milliseconds timeout,
                                                 const std::string& awaited,
                                                 const std::function<bool()>& give_up = {});
  /// Closes the channels, which asks the ranks to end, and waits. Throws RankLost if one fails or does not
  /// end in time.
  void finish(std::chrono::milliseconds timeout);

 private:
  void wait_for_news(std::chrono::milliseconds longest);
  void receive_lines(std::vector<std::optional<std::string>>& lines);
  void require_answer(std::size_t rank, const std::string& line);
  std::string ending_of(std::size_t rank);
  RankHistories histories();
  std::optional<CollectiveHistory> history_elsewhere(RankMember& member);
  [[noreturn]] void report_gone(std::size_t first);
  [[noreturn]] void report_missing(const std::vector<std::size_t>& ranks, const std::string& did_not,
                                   std::chrono::milliseconds timeout);
  void end_all();

  ReservedPort port_;
  std::vector<RankMember> members_;
  std::vector<std::optional<std::string>> pending_;
};

/// Starts one rank of `command` at `place`. Throws Error.
RankMember start_rank(const RankCommand& command, const RankPlace& place);

/// Returns "; its last words: a | b" from the last lines on standard error; empty if there are none.
std::string last_words(const Child& child);

struct RankPatience {
  std::chrono::milliseconds start{60'000};  ///< for ranks to start and meet
  std::chrono::milliseconds reply{60'000};  ///< for an answer
};

/// Sends requests to all ranks of a group and collects the answers. All calls throw RankLost if a rank is
/// lost, and Interrupted if the user wants to stop and a rank does not answer.
class RankConversation {
 public:
  /// Waits until the ranks have met. Throws Error for an invalid or missing greeting, Interrupted if
  /// `give_up`, asked while waiting, returns true.
  RankConversation(RankGroup& ranks, RankPatience patience, std::function<bool()> give_up);

  /// The greeting of each rank.
  const std::vector<RankHello>& hellos() const { return hellos_; }
  /// Returns the answers by rank. `awaited` names the expected answer in errors ("20 cycles of add"). Throws
  /// RankLost for an unrequested line or the answer to another request: later answers could then be
  /// mismatched.
  std::vector<Json> ask(Json request, const std::string& awaited);
  /// Throws Error with the first rank's reason if a rank lacks the backend ("nccl").
  void require_backend(const std::string& backend);
  /// Whether the user wants to stop.
  bool gives_up() const { return give_up_ && give_up_(); }

 private:
  void require_id(std::size_t rank, const Json& reply);

  RankGroup& ranks_;
  RankPatience patience_;
  std::function<bool()> give_up_;
  std::vector<RankHello> hellos_;
  std::uint64_t asked_ = 0;  ///< id of the last request
};

/// Returns the reason of the first rank that refused; empty if none did.
std::string refusal(const std::vector<Json>& replies);

/// Describes ranks that share a core, from their greetings: "ranks 0, 2 share core 0 and ranks 1, 3 share
/// core 1: ...", with host names if there are several. For unbound ranks: whether those on the first machine,
/// with `threads` threads each, exceed its `cpus`. Empty if none share.
std::string core_sharing(const std::vector<RankHello>& hellos, int threads, std::size_t cpus);

}  // namespace headroom
