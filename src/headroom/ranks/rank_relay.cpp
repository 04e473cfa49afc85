// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_relay.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/sha256.h"
#include "headroom/base/text.h"
#include "headroom/process/channel.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom/ranks/rank_meeting.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRelayLook{200};
/// Limit for an unknown peer to introduce itself.
constexpr milliseconds kIntroduction{5000};
constexpr milliseconds kAgain{50};
/// Limit for a rank's process to end once asked.
constexpr milliseconds kEnd{5000};

using Ranks = std::vector<std::optional<Channel>>;  ///< by rank; rank 0 is empty

/// Limit for an unknown peer.
constexpr std::size_t kLongestIntroduction = 4 << 10;

// Leader and rank authenticate each other first:
//
//   leader: {"greeting": 2, "nonce": L}
//   rank:   {"nonce": N}
//   leader: {"proof": P}
//   rank:   {"rank": 1, "size": 2, "proof": Q}
//
// Ranks of older versions speak first.
constexpr int kGreeting = 2;

/// 32 hexadecimal digits each.
struct Nonces {
  std::string leader, rank{};

  /// Differs from rank_proof() to prevent replay.
  std::string leader_proof(const std::string& token) const {
    return hmac_sha256(token, fmt::format("headroom ranks/leader/{}/{}", leader, rank));
  }
  std::string rank_proof(const std::string& token, int number, int size) const {
    return hmac_sha256(token, fmt::format("headroom ranks/rank/{}/{}/{}/{}", leader, rank, number, size));
  }
};

std::string nonce_of(const Json& json) {
  std::string nonce = json_string(json, "nonce", "");
  if (nonce.size() != 32 || nonce.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Error("an invalid nonce");
  return nonce;
}

/// Unidentified connections to rank 0. None blocks another, or ends the job unless it proves membership.
class Door {
 public:
  Door(const RankPlace& place, milliseconds timeout)
      : place_(place), listener_(place, timeout), ranks_(static_cast<std::size_t>(place.size)) {}

  void wait() {
    std::vector<pollfd> files{{listener_.fd(), POLLIN, 0}};
    for (const Visitor& visitor : visitors_) files.push_back({visitor.channel.fd(), POLLIN, 0});
    ::poll(files.data(), files.size(), static_cast<int>(kRelayLook.count()));
    if (auto channel = listener_.accept()) {
      channel->limit_lines(kLongestIntroduction);
      visitors_.push_back({std::move(*channel), Deadline(kIntroduction), {random_nonce()}});
      say(visitors_.back(), {{"greeting", kGreeting}, {"nonce", visitors_.back().nonces.leader}});
      // Drop the oldest.
      if (visitors_.size() > ranks_.size() + kMostStrangers) refuse(0);
    }
    for (std::size_t i = visitors_.size(); i-- > 0;) hear(i);
  }

  std::vector<std::string> missing() const {
    std::vector<std::string> missing;
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank]) missing.push_back(std::to_string(rank));
    }
    return missing;
  }
  Ranks take() { return std::move(ranks_); }
  std::string refusals() const {
    if (refused_ == 0) return "";
    return fmt::format(
        "; {} connection{} refused that {} not from this job{}", refused_, refused_ == 1 ? " was" : "s were",
        refused_ == 1 ? "was" : "were",
        older_ ? ", or from a rank with an older headroom: start all ranks with one version" : "");
  }

 private:
  static constexpr std::size_t kMostStrangers = 64;
  struct Visitor {
    Channel channel;
    Deadline deadline;
    Nonces nonces;
  };

  /// Whether the token proves membership.
  bool is_sure() const { return place_.on_one_machine() || !place_.token.empty(); }

  void refuse(std::size_t visitor) {
    visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(visitor));
    ++refused_;
  }

  /// Never blocks.
  static void say(Visitor& visitor, const Json& message) {
    visitor.channel.write_line(dump_json(message), milliseconds(0));
  }

  void hear(std::size_t index) {
    Visitor& visitor = visitors_[index];
    std::string line;
    const Channel::Status status = visitor.channel.read_line(line, milliseconds(0));
    if (status == Channel::Status::kTimeout && !visitor.deadline.over()) return;
    if (status != Channel::Status::kLine) return refuse(index);
    try {
      const Json told = parse_json(line, "an introduction");
      if (!visitor.nonces.rank.empty()) return admit(told, index);
      older_ = older_ || (told.is_object() && told.contains("rank"));
      visitor.nonces.rank = nonce_of(told);
      say(visitor, {{"proof", visitor.nonces.leader_proof(place_.token)}});
    } catch (const RankLost&) {
      throw;
    } catch (const Error&) {
      refuse(index);
    }
  }

  void admit(const Json& told, std::size_t index) {
    const int number = json_member_as<int>(told, "rank", ""), size = json_member_as<int>(told, "size", "");
    const std::string proof = visitors_[index].nonces.rank_proof(place_.token, number, size);
    if (!equal_secrets(json_string(told, "proof", ""), proof)) return refuse(index);
    if (size != place_.size) {
      if (!is_sure()) return refuse(index);
      throw RankLost(fmt::format("rank {} expects {} ranks, rank 0 expects {}: start all with one launcher",
                                 number, size, place_.size));
    }
    const auto rank = static_cast<std::size_t>(number);
    if (number < 1 || rank >= ranks_.size() || ranks_[rank]) {
      if (!is_sure()) return refuse(index);
      throw RankLost(fmt::format("two processes claim to be rank {} of {}", number, size));
    }
    visitors_[index].channel.limit_lines(std::nullopt);
    ranks_[rank] = std::move(visitors_[index].channel);
    visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  const RankPlace& place_;
  MeetingListener listener_;
  Ranks ranks_;
  std::vector<Visitor> visitors_;
  std::size_t refused_ = 0;
  bool older_ = false;  ///< whether a peer spoke like an older version
};

std::optional<Ranks> await_followers(const RankPlace& place, milliseconds timeout,
                                     const std::function<bool()>& give_up) {
  if (place.size == 1) return Ranks(1);
  const Deadline deadline(timeout);
  Door door(place, timeout);
  for (std::vector<std::string> missing = door.missing(); !missing.empty(); missing = door.missing()) {
    if (give_up && give_up()) return std::nullopt;
    if (deadline.over()) {
      throw RankLost(fmt::format("{} {} of {} did not connect within {:g} s{}",
                                 missing.size() == 1 ? "rank" : "ranks", join(missing, ", "), place.size,
                                 std::chrono::duration<double>(timeout).count(), door.refusals()));
    }
    door.wait();
  }
  return door.take();
}

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
  /// Returns false at the end.
  static bool carry(Channel& from, Channel& to) {
    std::string line;
    while (true) {
      const Channel::Status status = from.read_line(line, milliseconds(0));
      if (status == Channel::Status::kTimeout) return true;
      if (status != Channel::Status::kLine) return false;
      to.write_line(line, kEnd);
    }
  }

  /// Answers requests to this process itself, as the rank may hang.
  bool carry_requests() {
    std::string line;
    while (true) {
      const Channel::Status status = leader_.read_line(line, milliseconds(0));
      if (status == Channel::Status::kTimeout) return true;
      if (status != Channel::Status::kLine) return false;
      if (line == std::string(1, kEndMark)) {
        is_dismissed_ = true;
        return false;
      }
      if (line == std::string(1, kCollectivesMark)) {
        leader_.write_line(kCollectivesMark + dump_json(to_json(rank_.collectives->read())), kEnd);
      } else {
        rank_.channel.write_line(line, kEnd);
      }
    }
  }

  void end() {
    rank_.channel = Channel(-1);
    if (leader_.failure() != 0) {
      rank_.child->terminate();
      throw Error(
          fmt::format("lost the connection to rank 0: {}; the process of this rank was ended; check rank 0's "
                      "machine and the network",
                      std::strerror(leader_.failure())));
    }
    if (!rank_.child->wait(kEnd)) rank_.child->terminate();
    if (!is_dismissed_) {
      throw Error(
          "rank 0 ended during the job; the process of this rank was ended; see the output of rank 0");
    }
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
  bool is_dismissed_ = false;
};

Error not_rank_0(const RankPlace& place, const std::string& why) {
  return Error(
      fmt::format("rank {} found no rank 0 of its job at {}: the listener {}; it may be another program, or "
                  "another version of headroom: {}, and start all ranks with one version",
                  place.rank, meeting_name(place), why,
                  place.on_one_machine() ? "end that program" : "choose another MASTER_PORT"));
}

/// Nothing if the connection closed or `give_up` returns true.
std::optional<std::string> line_of(Channel& listener, const RankPlace& place, const Deadline& deadline,
                                   const std::function<bool()>& give_up) {
  std::string line;
  while (true) {
    const Channel::Status status = listener.read_line(line, kRelayLook);
    if (status == Channel::Status::kLine) return line;
    if (status == Channel::Status::kTooLong) throw not_rank_0(place, "does not answer like rank 0");
    if (status == Channel::Status::kClosed || (give_up && give_up())) return std::nullopt;
    if (deadline.over()) throw not_rank_0(place, "sends nothing");
  }
}

template <typename Read>
std::string told_in(const std::string& line, const RankPlace& place, Read read) {
  try {
    return read(parse_json(line, "an introduction"));
  } catch (const Error&) {
    throw not_rank_0(place, "does not answer like rank 0");
  }
}

std::string nonce_in_greeting(const Json& told) {
  if (json_member_as<int>(told, "greeting", "") != kGreeting) throw Error("another version");
  return nonce_of(told);
}

/// Authenticates `listener`, then introduces this rank. Returns false if the connection closed or `give_up`
/// returns true. Throws Error if it is not the leader.
bool meet_leader(Channel& listener, const RankPlace& place, const Deadline& deadline,
                 const std::function<bool()>& give_up) {
  listener.limit_lines(kLongestIntroduction);
  const auto greeting = line_of(listener, place, deadline, give_up);
  if (!greeting) return false;
  const Nonces nonces{told_in(*greeting, place, nonce_in_greeting), random_nonce()};
  listener.write_line(dump_json(Json{{"nonce", nonces.rank}}), kIntroduction);
  const auto answer = line_of(listener, place, deadline, give_up);
  if (!answer) return false;
  const std::string proof =
      told_in(*answer, place, [](const Json& told) { return json_string(told, "proof", ""); });
  if (!equal_secrets(proof, nonces.leader_proof(place.token))) {
    throw Error(
        fmt::format("rank {} found no rank 0 of its job at {}: the listener {}; give all ranks the same "
                    "token, or choose another MASTER_PORT if another job uses this one",
                    place.rank, meeting_name(place),
                    place.token.empty() ? "has a HEADROOM_RANK_TOKEN, this rank has none"
                                        : "does not prove that it has this rank's HEADROOM_RANK_TOKEN"));
  }
  listener.write_line(dump_json(Json{{"rank", place.rank},
                                     {"size", place.size},
                                     {"proof", nonces.rank_proof(place.token, place.rank, place.size)}}),
                      kIntroduction);
  listener.limit_lines(std::nullopt);
  return true;
}

/// Waits for the leader. Nothing if `give_up` returns true. Throws Error if it does not come or another
/// program listens.
std::optional<Channel> find_leader(const RankPlace& place, milliseconds timeout,
                                   const std::function<bool()>& give_up) {
  const Deadline deadline(timeout);
  const milliseconds introduction = std::min(timeout, kIntroduction);
  // An earlier job's leader may be closing, or a busy one may drop us.
  for (std::optional<Deadline> closing;;) {
    auto listener = connect_to_meeting(place, deadline, timeout, give_up);
    if (!listener) return std::nullopt;
    if (meet_leader(*listener, place, Deadline(introduction), give_up)) return listener;
    if (give_up && give_up()) return std::nullopt;
    if (!closing) closing.emplace(introduction);
    if (closing->over()) throw not_rank_0(place, "closes the connection");
    std::this_thread::sleep_for(kAgain);
  }
}

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
  auto leader = find_leader(place, timeout, give_up);
  if (!leader) return false;
  const Deadline deadline(timeout);
  std::string line;
  for (auto status = Channel::Status::kTimeout; status != Channel::Status::kLine;) {
    if (give_up && give_up()) return false;
    status = leader->read_line(line, kRelayLook);
    const bool is_waiting = status == Channel::Status::kTimeout && !deadline.over();
    if (!is_waiting && status != Channel::Status::kLine)
      throw RankLost(fmt::format("rank 0 ended before all {} ranks had connected", place.size));
  }
  RankPlace told = place;
  const Json meeting = parse_json(line, "the message of rank 0");
  told.meeting =
      Meeting{json_string(meeting, "address", ""), json_member_as<std::uint16_t>(meeting, "port", "")};
  Relay(std::move(*leader), start_rank(command, told)).run();
  return true;
}

}  // namespace headroom
