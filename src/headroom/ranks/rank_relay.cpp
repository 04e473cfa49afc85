// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_relay.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
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

/// What a rank says of itself in one line. None is longer but for a token of the user's.
constexpr std::size_t kLongestIntroduction = 64 << 10;

struct Introduction {
  int rank = 0, size = 0;
  std::string token;
};

/// Throws Error for what is none.
Introduction introduction_of(const std::string& line) {
  const Json json = parse_json(line, "an introduction");
  return {json_member_as<int>(json, "rank", ""), json_member_as<int>(json, "size", ""),
          json_member_or<std::string>(json, "token", "", "")};
}

/// Those who wait at the door of rank 0. What one of them says, or does not say, keeps no other waiting, and
/// ends nothing unless it is known to be of this job.
class Door {
 public:
  Door(const RankPlace& place, milliseconds timeout)
      : place_(place), listener_(place, timeout), ranks_(static_cast<std::size_t>(place.size)) {}

  /// Waits a moment for somebody to come, or to speak.
  void wait() {
    std::vector<pollfd> files{{listener_.fd(), POLLIN, 0}};
    for (const Visitor& visitor : visitors_) files.push_back({visitor.channel.fd(), POLLIN, 0});
    ::poll(files.data(), files.size(), static_cast<int>(kRelayLook.count()));
    if (auto channel = listener_.accept(milliseconds(0))) {
      channel->limit_lines(kLongestIntroduction);
      visitors_.push_back({std::move(*channel), Deadline(kIntroduction)});
      // More than could be ranks: the first of them made room for nobody.
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
  /// "; 3 connections were refused", or nothing.
  std::string refusals() const {
    if (refused_ == 0) return "";
    return fmt::format("; {} connection{} refused that {} not of this job", refused_,
                       refused_ == 1 ? " was" : "s were", refused_ == 1 ? "was" : "were");
  }

 private:
  static constexpr std::size_t kMostStrangers = 64;
  struct Visitor {
    Channel channel;
    Deadline deadline;
  };

  /// Whether a visitor that says the right token is of this job without doubt: of this user, or told a
  /// secret.
  bool is_sure() const { return place_.on_one_machine() || !place_.token.empty(); }

  void refuse(std::size_t visitor) {
    visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(visitor));
    ++refused_;
  }

  void hear(std::size_t index) {
    Visitor& visitor = visitors_[index];
    std::string line;
    const Channel::Status status = visitor.channel.read_line(line, milliseconds(0));
    if (status == Channel::Status::kTimeout && !visitor.deadline.over()) return;
    if (status != Channel::Status::kLine) return refuse(index);
    try {
      admit(introduction_of(line), index);
    } catch (const RankLost&) {
      throw;
    } catch (const Error&) {
      refuse(index);
    }
  }

  void admit(const Introduction& told, std::size_t index) {
    if (told.token != place_.token) return refuse(index);
    if (told.size != place_.size) {
      if (!is_sure()) return refuse(index);
      throw RankLost(fmt::format("rank {} was told of {} ranks, rank 0 of {}: start all with one launcher",
                                 told.rank, told.size, place_.size));
    }
    const auto rank = static_cast<std::size_t>(told.rank);
    if (told.rank < 1 || rank >= ranks_.size() || ranks_[rank]) {
      if (!is_sure()) return refuse(index);
      throw RankLost(fmt::format("two processes say that they are rank {} of {}", told.rank, told.size));
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
};

std::optional<Ranks> await_followers(const RankPlace& place, milliseconds timeout,
                                     const std::function<bool()>& give_up) {
  if (place.size == 1) return Ranks(1);
  const Deadline deadline(timeout);
  Door door(place, timeout);
  for (std::vector<std::string> missing = door.missing(); !missing.empty(); missing = door.missing()) {
    if (give_up && give_up()) return std::nullopt;
    if (deadline.over()) {
      throw RankLost(fmt::format("{} {} of {} did not come within {:g} s{}",
                                 missing.size() == 1 ? "rank" : "ranks", join(missing, ", "), place.size,
                                 std::chrono::duration<double>(timeout).count(), door.refusals()));
    }
    door.wait();
  }
  return door.take();
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
  Json introduction{{"rank", place.rank}, {"size", place.size}};
  if (!place.token.empty()) introduction["token"] = place.token;
  leader->write_line(dump_json(introduction), kIntroduction);
  std::string line;
  if (leader->read_line(line, timeout) != Channel::Status::kLine) {
    throw RankLost(fmt::format("rank 0 ended before all {} ranks had come", place.size));
  }
  RankPlace told = place;
  const Json meeting = parse_json(line, "what rank 0 said");
  told.meeting =
      Meeting{json_string(meeting, "address", ""), json_member_as<std::uint16_t>(meeting, "port", "")};
  Relay(std::move(*leader), start_rank(command, told)).run();
  return true;
}

}  // namespace headroom
