// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"
#include "headroom/ranks/collective_report.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom/ranks/reserved_port.h"

namespace headroom {

/// Ranks of a group died, hang or never came: which, the last that each wrote to standard error, and which of
/// them others wait for in a collective. After the first line come the last collectives of each. The others
/// have been ended.
class RankLost : public Error {
 public:
  using Error::Error;
};

/// Starting of rank processes on this machine.
struct RankCommand {
  std::vector<std::string> arguments;  ///< arguments[0] is the program, the same for each rank
  std::vector<std::pair<std::string, std::string>> environment;  ///< beside rank_variables()
  std::string channel_variable;  ///< tells each rank the number of its descriptor for lines
  int ranks = 1;
  std::uint16_t port = 0;  ///< where the ranks meet; another is taken where it is in use, 0: any
};

/// One rank as the others' leader sees it: lines to and from it, and its process where that is a child of
/// ours.
struct RankMember {
  Channel channel;
  std::optional<Child> child{};
  std::optional<CollectiveRing> collectives{};  ///< of the process, where that is a child of ours
};

/// What a rank of another machine's (or launcher's) process is said to have ended with: a line that begins so
/// comes in place of an answer. No JSON does.
inline constexpr char kLostMark = '\x01';
/// A line of this alone, to another machine's (or launcher's) process, asks for its rank's collectives; the
/// answer begins with it, to_json(CollectiveHistory) follows.
inline constexpr char kCollectivesMark = '\x02';

/// The ranks of a job, led from here: lines to all, one line from each. A rank that ends before it is asked
/// to, or does not answer in time, ends the whole group. No process outlives this object.
class RankGroup {
 public:
  /// Starts the ranks. Throws Error when the program cannot be started.
  explicit RankGroup(const RankCommand& command);
  /// Ranks that were started otherwise, by rank.
  RankGroup(std::vector<RankMember> members, ReservedPort port)
      : port_(std::move(port)), members_(std::move(members)) {}
  ~RankGroup();
  RankGroup(RankGroup&&) noexcept = default;
  RankGroup& operator=(RankGroup&&) = delete;

  int size() const { return static_cast<int>(members_.size()); }
  pid_t pid(int rank) const;  ///< -1 where others started it
  /// Where the ranks meet.
  std::uint16_t port() const { return port_.number(); }

  /// Throws RankLost where a rank said something that nobody asked it, or its process elsewhere has ended.
  void require_quiet();
  /// A rank broke the protocol: ends all, and throws RankLost that says so.
  [[noreturn]] void lose(std::size_t rank, const std::string& what);

  /// Sends a line to every rank. A rank that is gone is found by the next gather().
  void send(const std::string& line);
  /// The next line of each rank, by rank. Nothing where `give_up` (asked a few times a second) says so; lines
  /// that had come are given by the next call. Throws RankLost as soon as a rank ended, or when the time is
  /// over; `awaited` says in it what the ranks had to say ("the end of its start").
  std::optional<std::vector<std::string>> gather(std::chrono::milliseconds timeout,
                                                 const std::string& awaited,
                                                 const std::function<bool()>& give_up = {});
  /// Closes the channels, which asks the ranks to end, and waits for that. Throws RankLost where one fails,
  /// or does not end in time.
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

/// Starts one rank of `command`, told its `place`. Throws Error.
RankMember start_rank(const RankCommand& command, const RankPlace& place);

/// "; its last words: a | b" of what a process last wrote to standard error; empty where that is nothing.
std::string last_words(const Child& child);

}  // namespace headroom
