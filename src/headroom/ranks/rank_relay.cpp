// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_relay.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/process/deadline.h"
#include "headroom/ranks/rank_meeting.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRelayLook{200};
/// What a stranger at the door may take to say who it is.
constexpr milliseconds kIntroduction{2000};
/// What a rank's process may take to end once it is asked to.
constexpr milliseconds kEnd{5000};

using Ranks = std::vector<std::optional<Channel>>;  ///< by rank; rank 0 stays empty

/// The rank that a follower says it is; nothing for a stranger. Throws Error for one of another world.
std::optional<std::size_t> introduced(Channel& follower, const RankPlace& place, const Ranks& known) {
  std::string line;
  if (follower.read_line(line, kIntroduction) != Channel::Status::kLine) return std::nullopt;
  try {
    const Json json = parse_json(line, "an introduction");
    const auto rank = static_cast<int>(json_number(json, "rank", "")),
               size = static_cast<int>(json_number(json, "size", ""));
    if (size != place.size) {
      throw RankLost(fmt::format("rank {} was told of {} ranks, rank 0 of {}: start all with one launcher",
                                 rank, size, place.size));
    }
    if (rank < 1 || rank >= size || known[static_cast<std::size_t>(rank)]) {
      throw RankLost(fmt::format("two processes say that they are rank {} of {}", rank, size));
    }
    return static_cast<std::size_t>(rank);
  } catch (const RankLost&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::string> missing_of(const Ranks& ranks) {
  std::vector<std::string> missing;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (!ranks[rank]) missing.push_back(std::to_string(rank));
  }
  return missing;
}

std::optional<Ranks> await_followers(const RankPlace& place, milliseconds timeout,
                                     const std::function<bool()>& give_up) {
  Ranks ranks(static_cast<std::size_t>(place.size));
  if (place.size == 1) return ranks;
  const Deadline deadline(timeout);
  MeetingListener listener(place, timeout);
  while (!missing_of(ranks).empty()) {
    if (give_up && give_up()) return std::nullopt;
    if (deadline.over()) {
      const std::vector<std::string> missing = missing_of(ranks);
      throw RankLost(fmt::format("{} {} of {} did not come within {:g} s",
                                 missing.size() == 1 ? "rank" : "ranks", join(missing, ", "), place.size,
                                 std::chrono::duration<double>(timeout).count()));
    }
    auto follower = listener.accept(kRelayLook);
    if (!follower) continue;
    if (const auto rank = introduced(*follower, place, ranks)) ranks[*rank] = std::move(*follower);
  }
  return ranks;
}

/// Takes lines across until one side has no more.
class Relay {
 public:
  Relay(Channel leader, RankMember rank) : leader_(std::move(leader)), rank_(std::move(rank)) {}

  void run() {
    while (true) {
      const bool ended = rank_.child->poll_exit().has_value();
      if (!carry_requests()) return end();
      if (!carry(rank_.channel, leader_) || ended) return tell_loss();
      pollfd files[] = {{leader_.fd(), POLLIN, 0},
                        {rank_.channel.fd(), POLLIN, 0},
                        {rank_.child->stdout_fd(), POLLIN, 0},
                        {rank_.child->stderr_fd(), POLLIN, 0},
                        {rank_.child->exit_fd(), POLLIN, 0}};
      ::poll(files, std::size(files), static_cast<int>(kRelayLook.count()));
      rank_.child->drain();
    }
  }

 private:
  /// All lines that are there. False once there will be none.
  static bool carry(Channel& from, Channel& to) {
    std::string line;
    while (true) {
      const Channel::Status status = from.read_line(line, milliseconds(0));
      if (status == Channel::Status::kTimeout) return true;
      if (status != Channel::Status::kLine) return false;
      to.write_line(line, kEnd);
    }
  }

  /// From the leader; what it asks of this process is answered here, as the rank may hang.
  bool carry_requests() {
    std::string line;
    while (true) {
      const Channel::Status status = leader_.read_line(line, milliseconds(0));
      if (status == Channel::Status::kTimeout) return true;
      if (status != Channel::Status::kLine) return false;
      if (line == std::string(1, kCollectivesMark)) {
        leader_.write_line(kCollectivesMark + dump_json(to_json(rank_.collectives->read())), kEnd);
      } else {
        rank_.channel.write_line(line, kEnd);
      }
    }
  }

  /// The leader has finished with this rank, or cannot be reached any more.
  void end() {
    rank_.channel = Channel(-1);
    if (leader_.failure() != 0) {
      rank_.child->terminate();
      throw Error(
          fmt::format("the connection to rank 0 broke: {}; the process of this rank was ended; see "
                      "whether rank 0's machine and the network run",
                      std::strerror(leader_.failure())));
    }
    if (!rank_.child->wait(kEnd)) rank_.child->terminate();
  }

  [[noreturn]] void tell_loss() {
    const auto status = rank_.child->wait(kEnd);
    const std::string ending =
        status ? (status->signalled ? "was " : "ended with ") + status->text() : "closed its channel";
    const std::string text = ending + last_words(*rank_.child);
    leader_.write_line(kLostMark + text, kEnd);
    throw RankLost("the process of this rank " + text);
  }

  Channel leader_;
  RankMember rank_;
};

}  // namespace

std::optional<RankGroup> lead_ranks(const RankPlace& place, const RankCommand& command, milliseconds timeout,
                                    const std::function<bool()>& give_up) {
  std::optional<Ranks> ranks = await_followers(place, timeout, give_up);
  if (!ranks) return std::nullopt;
  ReservedPort port(command.port);
  RankPlace told = place;
  told.meeting = Meeting{place.meeting ? place.meeting->address : "127.0.0.1", port.number()};
  const std::string meeting =
      dump_json(Json{{"address", told.meeting->address}, {"port", told.meeting->port}});
  std::vector<RankMember> members;
  members.push_back(start_rank(command, told));
  for (std::size_t rank = 1; rank < ranks->size(); ++rank) {
    Channel& follower = *(*ranks)[rank];
    follower.write_line(meeting, kIntroduction);
    members.push_back({std::move(follower)});
  }
  return RankGroup(std::move(members), std::move(port));
}

bool follow_leader(const RankPlace& place, const RankCommand& command, milliseconds timeout,
                   const std::function<bool()>& give_up) {
  auto leader = connect_to_meeting(place, timeout, give_up);
  if (!leader) return false;
  leader->write_line(dump_json(Json{{"rank", place.rank}, {"size", place.size}}), kIntroduction);
  std::string line;
  if (leader->read_line(line, timeout) != Channel::Status::kLine) {
    throw RankLost(fmt::format("rank 0 ended before all {} ranks had come", place.size));
  }
  RankPlace told = place;
  const Json meeting = parse_json(line, "what rank 0 said");
  told.meeting = Meeting{json_string(meeting, "address", ""),
                         static_cast<std::uint16_t>(json_number(meeting, "port", ""))};
  Relay(std::move(*leader), start_rank(command, told)).run();
  return true;
}

}  // namespace headroom
