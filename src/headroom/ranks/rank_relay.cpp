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
#include "headroom/ranks/rank_rendezvous.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRelayPoll{200};
/// Limit for an unknown peer to introduce itself.
constexpr milliseconds kIntroduction{5000};
constexpr milliseconds kRetryInterval{50};
/// Limit for a rank's process to end once asked.
constexpr milliseconds kEnd{5000};

using Ranks = std::vector<std::optional<Channel>>;  ///< by rank; rank 0 is empty

/// Limit for an unknown peer.
constexpr std::size_t kMaxIntroductionBytes = 4 << 10;

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
class PendingConnections {
 public:
  PendingConnections(const RankPlace& place, milliseconds timeout)
      : place_(place), listener_(place, timeout), ranks_(static_cast<std::size_t>(place.size)) {}

  void wait() {
    std::vector<pollfd> files{{listener_.fd(), POLLIN, 0}};
    for (const PendingConnection& pending : pending_) files.push_back({pending.channel.fd(), POLLIN, 0});
    ::poll(files.data(), files.size(), static_cast<int>(kRelayPoll.count()));
    if (auto channel = listener_.accept()) {
      channel->limit_lines(kMaxIntroductionBytes);
      pending_.push_back({std::move(*channel), Deadline(kIntroduction), {random_nonce()}});
      send(pending_.back(), {{"greeting", kGreeting}, {"nonce", pending_.back().nonces.leader}});
      // Drop the oldest.
      if (pending_.size() > ranks_.size() + kMaxPending) refuse(0);
    }
    for (std::size_t i = pending_.size(); i-- > 0;) read_introduction(i);
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
  static constexpr std::size_t kMaxPending = 64;
  struct PendingConnection {
    Channel channel;
    Deadline deadline;
    Nonces nonces;
  };

  /// Whether the token proves membership.
  bool can_authenticate() const { return place_.is_single_machine() || !place_.token.empty(); }

  void refuse(std::size_t pending) {
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(pending));
    ++refused_;
  }

  /// Never blocks.
  static void send(PendingConnection& pending, const Json& message) {
    pending.channel.write_line(dump_json(message), milliseconds(0));
  }

  void read_introduction(std::size_t index) {
    PendingConnection& pending = pending_[index];
    std::string line;
    const Channel::Status status = pending.channel.read_line(line, milliseconds(0));
    if (status == Channel::Status::kTimeout && !pending.deadline.over()) return;
    if (status != Channel::Status::kLine) return refuse(index);
    try {
      const Json announced = parse_json(line, "an introduction");
      if (!pending.nonces.rank.empty()) return admit(announced, index);
      older_ = older_ || (announced.is_object() && announced.contains("rank"));
      pending.nonces.rank = nonce_of(announced);
      send(pending, {{"proof", pending.nonces.leader_proof(place_.token)}});
    } catch (const RankLost&) {
      throw;
    } catch (const Error&) {
      refuse(index);
    }
  }

  void admit(const Json& announced, std::size_t index) {
    const int number = json_member_as<int>(announced, "rank", ""),
              size = json_member_as<int>(announced, "size", "");
    const std::string proof = pending_[index].nonces.rank_proof(place_.token, number, size);
    if (!constant_time_equal(json_string(announced, "proof", ""), proof)) return refuse(index);
    if (size != place_.size) {
      if (!can_authenticate()) return refuse(index);
      throw RankLost(fmt::format("rank {} expects {} ranks, rank 0 expects {}: start all with one launcher",
                                 number, size, place_.size));
    }
    const auto rank = static_cast<std::size_t>(number);
    if (number < 1 || rank >= ranks_.size() || ranks_[rank]) {
      if (!can_authenticate()) return refuse(index);
      throw RankLost(fmt::format("two processes claim to be rank {} of {}", number, size));
    }
    pending_[index].channel.limit_lines(std::nullopt);
    ranks_[rank] = std::move(pending_[index].channel);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  const RankPlace& place_;
  RendezvousListener listener_;
  Ranks ranks_;
  std::vector<PendingConnection> pending_;
  std::size_t refused_ = 0;
  bool older_ = false;  ///< whether a peer spoke like an older version
};

std::optional<Ranks> await_followers(const RankPlace& place, milliseconds timeout,
                                     const std::function<bool()>& give_up) {
  if (place.size == 1) return Ranks(1);
  const Deadline deadline(timeout);
  PendingConnections pending_connections(place, timeout);
  for (std::vector<std::string> missing = pending_connections.missing(); !missing.empty();
       missing = pending_connections.missing()) {
    if (give_up && give_up()) return std::nullopt;
    if (deadline.over()) {
      throw RankLost(fmt::format("{} {} of {} did not connect within {:g} s{}",
                                 missing.size() == 1 ? "rank" : "ranks", join(missing, ", "), place.size,
                                 std::chrono::duration<double>(timeout).count(),
                                 pending_connections.refusals()));
    }
    pending_connections.wait();
  }
  return pending_connections.take();
}

class Relay {
 public:
  Relay(Channel leader, RankMember rank) : leader_(std::move(leader)), rank_(std::move(rank)) {}

  void run() {
    while (true) {
      const bool ended = rank_.child->poll_exit().has_value();
      if (!forward_requests()) return end();
      if (!forward_lines(rank_.channel, leader_) || ended) return send_loss();
      pollfd files[] = {{leader_.fd(), POLLIN, 0},
                        {rank_.channel.fd(), POLLIN, 0},
                        {rank_.child->stdout_fd(), POLLIN, 0},
                        {rank_.child->stderr_fd(), POLLIN, 0},
                        {rank_.child->exit_fd(), POLLIN, 0}};
      ::poll(files, std::size(files), static_cast<int>(kRelayPoll.count()));
      rank_.child->drain();
    }
  }

 private:
  /// Returns false at the end.
  static bool forward_lines(Channel& from, Channel& to) {
    std::string line;
    while (true) {
      const Channel::Status status = from.read_line(line, milliseconds(0));
      if (status == Channel::Status::kTimeout) return true;
      if (status != Channel::Status::kLine) return false;
      to.write_line(line, kEnd);
    }
  }

  /// Answers those to this process, as the rank may hang.
  bool forward_requests() {
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

  [[noreturn]] void send_loss() {
    const auto status = rank_.child->wait(kEnd);
    const std::string ending =
        status ? (status->signalled ? "was " : "ended with ") + status->text() : "closed its channel";
    const std::string text = ending + last_output(*rank_.child);
    leader_.write_line(kLostMark + text, kEnd);
    throw RankLost("the process of this rank " + text);
  }

  Channel leader_;
  RankMember rank_;
  bool is_dismissed_ = false;
};

Error leader_error(const RankPlace& place, const std::string& why) {
  return Error(
      fmt::format("rank {} found no rank 0 of its job at {}: the listener {}; it may be another program, or "
                  "another version of headroom: {}, and start all ranks with one version",
                  place.rank, rendezvous_name(place), why,
                  place.is_single_machine() ? "end that program" : "choose another MASTER_PORT"));
}

/// Nothing if the connection closed or `give_up` returns true.
std::optional<std::string> line_of(Channel& listener, const RankPlace& place, const Deadline& deadline,
                                   const std::function<bool()>& give_up) {
  std::string line;
  while (true) {
    const Channel::Status status = listener.read_line(line, kRelayPoll);
    if (status == Channel::Status::kLine) return line;
    if (status == Channel::Status::kTooLong) throw leader_error(place, "does not answer like rank 0");
    if (status == Channel::Status::kClosed || (give_up && give_up())) return std::nullopt;
    if (deadline.over()) throw leader_error(place, "sends nothing");
  }
}

template <typename Read>
std::string parse_reply(const std::string& line, const RankPlace& place, Read read) {
  try {
    return read(parse_json(line, "an introduction"));
  } catch (const Error&) {
    throw leader_error(place, "does not answer like rank 0");
  }
}

std::string nonce_in_greeting(const Json& announced) {
  if (json_member_as<int>(announced, "greeting", "") != kGreeting) throw Error("another version");
  return nonce_of(announced);
}

/// Checks the leader, then introduces this rank. False if the connection closed or `give_up` returns true.
/// Throws Error if it is not the leader.
bool meet_leader(Channel& listener, const RankPlace& place, const Deadline& deadline,
                 const std::function<bool()>& give_up) {
  listener.limit_lines(kMaxIntroductionBytes);
  const auto greeting = line_of(listener, place, deadline, give_up);
  if (!greeting) return false;
  const Nonces nonces{parse_reply(*greeting, place, nonce_in_greeting), random_nonce()};
  listener.write_line(dump_json(Json{{"nonce", nonces.rank}}), kIntroduction);
  const auto answer = line_of(listener, place, deadline, give_up);
  if (!answer) return false;
  const std::string proof =
      parse_reply(*answer, place, [](const Json& announced) { return json_string(announced, "proof", ""); });
  if (!constant_time_equal(proof, nonces.leader_proof(place.token))) {
    throw Error(
        fmt::format("rank {} found no rank 0 of its job at {}: the listener {}; give all ranks the same "
                    "token, or choose another MASTER_PORT if another job uses this one",
                    place.rank, rendezvous_name(place),
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

/// Nothing if `give_up` returns true. Throws Error if none comes or another program listens.
std::optional<Channel> find_leader(const RankPlace& place, milliseconds timeout,
                                   const std::function<bool()>& give_up) {
  const Deadline deadline(timeout);
  const milliseconds introduction = std::min(timeout, kIntroduction);
  // An earlier job's leader may be closing, or a busy one may drop us.
  for (std::optional<Deadline> closing;;) {
    auto listener = connect_to_rendezvous(place, deadline, timeout, give_up);
    if (!listener) return std::nullopt;
    if (meet_leader(*listener, place, Deadline(introduction), give_up)) return listener;
    if (give_up && give_up()) return std::nullopt;
    if (!closing) closing.emplace(introduction);
    if (closing->over()) throw leader_error(place, "closes the connection");
    std::this_thread::sleep_for(kRetryInterval);
  }
}

}  // namespace

std::optional<RankGroup> lead_ranks(const RankPlace& place, const RankCommand& command, milliseconds timeout,
                                    const std::function<bool()>& give_up) {
  std::optional<Ranks> ranks = await_followers(place, timeout, give_up);
  if (!ranks) return std::nullopt;
  ReservedPort port(command.port);
  RankPlace announced = place;
  announced.meeting = Rendezvous{place.meeting ? place.meeting->address : "127.0.0.1", port.number()};
  const std::string meeting =
      dump_json(Json{{"address", announced.meeting->address}, {"port", announced.meeting->port}});
  std::vector<RankMember> members;
  members.push_back(start_rank(command, announced));
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
    status = leader->read_line(line, kRelayPoll);
    const bool is_waiting = status == Channel::Status::kTimeout && !deadline.over();
    if (!is_waiting && status != Channel::Status::kLine)
      throw RankLost(fmt::format("rank 0 ended before all {} ranks had connected", place.size));
  }
  RankPlace announced = place;
  const Json meeting = parse_json(line, "the message of rank 0");
  announced.meeting =
      Rendezvous{json_string(meeting, "address", ""), json_member_as<std::uint16_t>(meeting, "port", "")};
  Relay(std::move(*leader), start_rank(command, announced)).run();
  return true;
}

}  // namespace headroom
