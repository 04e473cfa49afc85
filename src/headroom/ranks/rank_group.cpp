// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_group.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "headroom/base/text.h"
#include "headroom/process/deadline.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;

constexpr int kChildSocket = 3, kChildCollectives = 4;
constexpr std::size_t kLastWords = 3;
constexpr milliseconds kLook{200};
/// What ranks may take to end after TERM.
constexpr milliseconds kGrace{500};
/// A rank that closed its channel is about to end: how it ended says more than that it did.
constexpr milliseconds kEndPatience{1000};
/// What the process of a rank elsewhere may take to tell of its collectives.
constexpr milliseconds kTelling{1000};
/// How many of them are shown of each rank.
constexpr std::size_t kShownCollectives = 8;
/// How long to look which others one rank's end takes with it.
constexpr milliseconds kAftermath{300};

std::string names_of(const std::vector<std::size_t>& ranks, int size) {
  std::vector<std::string> numbers;
  for (const std::size_t rank : ranks) numbers.push_back(std::to_string(rank));
  return fmt::format("{} {} of {}", ranks.size() == 1 ? "rank" : "ranks", join(numbers, ", "), size);
}

/// The collective that a rank was in when it ended.
std::string collective_at_work(const RankMember& member) {
  if (!member.collectives) return "";
  const CollectiveHistory history = member.collectives->read();
  if (history.calls.empty()) return "";
  const CollectiveEntry& last = history.calls.back();
  const bool in_it = last.state == CollectiveState::kCreated || last.state == CollectiveState::kStarted;
  return fmt::format("; {} {} {} of '{}'", in_it ? "it was in" : "its last collective was", last.op,
                     last.sequence, history.groups[static_cast<std::size_t>(last.group)].name);
}

double seconds(milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

RankMember start_rank(const RankCommand& command, const RankPlace& place) {
  auto [ours, theirs] = Channel::pair();
  SpawnOptions options;
  options.arguments = command.arguments;
  options.environment = command.environment;
  for (auto& variable : rank_variables(place)) options.environment.push_back(std::move(variable));
  options.environment.emplace_back(command.channel_variable, std::to_string(kChildSocket));
  options.environment.emplace_back(CollectiveRing::kVariable, std::to_string(kChildCollectives));
  RankMember member{std::move(ours)};
  member.collectives.emplace(CollectiveRing::create());
  options.descriptors = {{theirs.fd(), kChildSocket}, {member.collectives->fd(), kChildCollectives}};
  member.child.emplace(options);
  return member;
}

std::string last_words(const Child& child) {
  std::vector<std::string> lines = child.stderr_lines().lines();
  if (lines.size() > kLastWords) lines.erase(lines.begin(), lines.end() - kLastWords);
  return lines.empty() ? "" : "; its last words: " + join(lines, " | ");
}

RankGroup::RankGroup(const RankCommand& command) : port_(command.port) {
  for (int rank = 0; rank < command.ranks; ++rank) {
    RankPlace place;
    place.rank = place.local_rank = rank;
    place.size = command.ranks;
    place.local_size = command.ranks;
    place.meeting = Meeting{"127.0.0.1", port_.number()};
    members_.push_back(start_rank(command, place));
  }
}

RankGroup::~RankGroup() {
  end_all();
}

pid_t RankGroup::pid(int rank) const {
  const auto& child = members_.at(static_cast<std::size_t>(rank)).child;
  return child ? child->pid() : -1;
}

void RankGroup::require_quiet() {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    Channel& channel = members_[rank].channel;
    if (channel.is_quiet()) continue;
    std::string line;
    if (channel.buffered_line(line)) require_answer(rank, line);
    lose(rank, "it said something that it was not asked");
  }
}

void RankGroup::lose(std::size_t rank, const std::string& what) {
  const std::string words = members_[rank].child ? last_words(*members_[rank].child) : "";
  end_all();
  throw RankLost(fmt::format("rank {} of {} broke the protocol: {}{}{}", rank, size(), what, words,
                             size() > 1 ? "; the others were ended" : ""));
}

void RankGroup::send(const std::string& line) {
  for (RankMember& member : members_) member.channel.write_line(line, kEndPatience);
}

std::optional<std::vector<std::string>> RankGroup::gather(milliseconds timeout, const std::string& awaited,
                                                          const std::function<bool()>& give_up) {
  const Deadline deadline(timeout);
  pending_.resize(members_.size());
  while (true) {
    receive_lines(pending_);
    std::vector<std::size_t> missing;
    for (std::size_t rank = 0; rank < pending_.size(); ++rank) {
      if (!pending_[rank]) missing.push_back(rank);
    }
    if (missing.empty()) break;
    if (give_up && give_up()) return std::nullopt;
    if (deadline.over()) report_missing(missing, "did not give " + awaited, timeout);
    wait_for_news(kLook);
  }
  std::vector<std::string> lines;
  for (auto& line : pending_) lines.push_back(std::move(*line));
  pending_.clear();
  return lines;
}

void RankGroup::receive_lines(std::vector<std::optional<std::string>>& lines) {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    RankMember& member = members_[rank];
    if (member.child) member.child->drain();
    if (lines[rank]) continue;
    // Asked before the line is: what a rank wrote before it ended still counts.
    const bool ended = member.child && member.child->poll_exit();
    std::string line;
    const auto status = member.channel.read_line(line, milliseconds(0));
    if (status == Channel::Status::kLine) {
      require_answer(rank, line);
      lines[rank] = std::move(line);
    } else if (ended || status != Channel::Status::kTimeout) {
      report_gone(rank);
    }
  }
}

void RankGroup::wait_for_news(milliseconds longest) {
  std::vector<pollfd> files;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const RankMember& member = members_[rank];
    // One that has answered may have written more already, which is not for this turn.
    const bool has_answered = !pending_.empty() && pending_[rank];
    if (!has_answered) files.push_back({member.channel.fd(), POLLIN, 0});
    if (!member.child) continue;
    for (const int file : {member.child->stdout_fd(), member.child->stderr_fd(),
                           has_answered ? -1 : member.child->exit_fd()}) {
      files.push_back({file, POLLIN, 0});
    }
  }
  ::poll(files.data(), files.size(), static_cast<int>(longest.count()));
}

void RankGroup::require_answer(std::size_t rank, const std::string& line) {
  if (line.empty() || line.front() != kLostMark) return;
  end_all();
  throw RankLost(fmt::format("rank {} of {} {}; the others were ended", rank, size(), line.substr(1)));
}

std::string RankGroup::ending_of(std::size_t rank) {
  RankMember& member = members_[rank];
  if (const int failure = member.channel.failure(); !member.child && failure != 0) {
    return fmt::format("is gone: its connection broke: {}", std::strerror(failure));
  }
  if (!member.child) return "is gone: its connection was closed";
  const auto status = member.child->poll_exit();
  if (!status) return "closed its channel" + last_words(*member.child);
  return (status->signalled ? "was " : "ended with ") + status->text() + last_words(*member.child);
}

std::optional<CollectiveHistory> RankGroup::history_elsewhere(RankMember& member) {
  const Deadline deadline(kTelling);
  if (!member.channel.write_line(std::string(1, kCollectivesMark), kTelling)) return std::nullopt;
  std::string line;
  while (member.channel.read_line(line, milliseconds(deadline.poll_ms())) == Channel::Status::kLine) {
    if (!line.starts_with(kCollectivesMark)) continue;  // an answer that came too late
    try {
      return collective_history_from_json(parse_json(line.substr(1), "the collectives of a rank"));
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// What is known of every rank's collectives, now.
RankHistories RankGroup::histories() {
  RankHistories known;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    RankMember& member = members_[rank];
    auto history = member.collectives ? member.collectives->read() : history_elsewhere(member);
    if (history) known[static_cast<int>(rank)] = std::move(*history);
  }
  return known;
}

void RankGroup::report_gone(std::size_t first) {
  const std::string at_work = collective_at_work(members_[first]);
  if (members_[first].child) members_[first].child->wait(kEndPatience);
  // A rank that ends takes those with it that wait for it; which was the first is told by the clock.
  const Deadline aftermath(kAftermath);
  std::vector<std::size_t> gone;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    auto& child = members_[rank].child;
    if (rank == first || (child && child->wait(milliseconds(aftermath.poll_ms())))) gone.push_back(rank);
  }
  std::ranges::stable_sort(gone, {}, [&](std::size_t rank) {
    return members_[rank].child ? members_[rank].child->ended() : std::chrono::steady_clock::time_point();
  });
  std::vector<std::string> endings;
  for (const std::size_t rank : gone) {
    endings.push_back(fmt::format("rank {} of {} {}", rank, size(), ending_of(rank)));
  }
  end_all();
  throw RankLost(join(endings, "; then ") + at_work +
                 (gone.size() < members_.size() ? "; the others were ended" : ""));
}

void RankGroup::report_missing(const std::vector<std::size_t>& ranks, const std::string& did_not,
                               milliseconds timeout) {
  const RankHistories histories = this->histories();
  std::string message =
      fmt::format("{} {} within {:g} s", names_of(ranks, size()), did_not, seconds(timeout));
  if (const std::string waiting = waiting_text(histories); !waiting.empty()) message += "; " + waiting;
  for (const std::size_t rank : ranks) {
    if (!members_[rank].child) continue;
    members_[rank].child->drain();
    if (members_[rank].child->is_stopped()) message += fmt::format("; rank {} is stopped by a signal", rank);
    const std::string words = last_words(*members_[rank].child);
    message += fmt::format("; rank {}{}", rank,
                           words.empty() ? " wrote nothing to standard error" : words.substr(1));
  }
  end_all();
  const std::string last = collectives_text(histories, kShownCollectives);
  throw RankLost(message + "; all ranks were ended" +
                 (last.empty() ? "" : "\nlast collectives of each rank:\n" + last));
}

void RankGroup::finish(milliseconds timeout) {
  const Deadline deadline(timeout);
  for (RankMember& member : members_) member.channel = Channel(-1);
  while (true) {
    std::vector<std::size_t> running;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      auto& child = members_[rank].child;
      if (!child) continue;
      child->drain();
      const auto status = child->poll_exit();
      if (!status) running.push_back(rank);
      if (status && !status->ok()) report_gone(rank);
    }
    if (running.empty()) return;
    if (deadline.over()) report_missing(running, "did not end", timeout);
    wait_for_news(kLook);
  }
}

void RankGroup::end_all() {
  for (RankMember& member : members_) {
    member.channel = Channel(-1);
    if (!member.child) continue;
    member.child->signal_group(SIGTERM);
    member.child->signal_group(SIGCONT);
  }
  const Deadline deadline(kGrace);
  for (RankMember& member : members_) {
    if (member.child) member.child->terminate(milliseconds(deadline.poll_ms()));
  }
}

}  // namespace headroom
