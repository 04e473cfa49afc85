// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_group.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <set>

#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/runner/protocol.h"

namespace headroom {
namespace {

bool bind_to(const Descriptor& socket, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::uint16_t bound_port(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

using std::chrono::milliseconds;

constexpr int kChildSocket = 3, kChildCollectives = 4;
constexpr std::size_t kLastOutputLines = 3;
constexpr milliseconds kPollInterval{200};
/// Wait after SIGTERM.
constexpr milliseconds kGrace{500};
/// The exit status is the better reason.
constexpr milliseconds kEndTimeout{1000};
/// Wait for a remote rank's collectives.
constexpr milliseconds kHistoryTimeout{1000};
/// Per rank.
constexpr std::size_t kShownCollectives = 8;
/// Wait for other failing ranks.
constexpr milliseconds kFailureGrace{300};

std::string names_of(const std::vector<std::size_t>& ranks, int size) {
  std::vector<std::string> numbers;
  for (const std::size_t rank : ranks) numbers.push_back(std::to_string(rank));
  return fmt::format("{} {} of {}", ranks.size() == 1 ? "rank" : "ranks", join(numbers, ", "), size);
}

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

void dismiss(RankMember& member) {
  if (!member.child) member.channel.write_line(std::string(1, kEndMark), milliseconds(0));
  member.channel = Channel(-1);
}

/// Batches are short unless a rank hangs.
constexpr std::chrono::seconds kInterruptTimeout{2};

void require_same_arguments(const std::vector<RankHello>& hellos) {
  for (const RankHello& hello : hellos) {
    if (hello.arguments == hellos.front().arguments) continue;
    throw Error(
        fmt::format("rank {} was started with {}, rank 0 with {}: start all ranks with the same arguments",
                    hello.rank, hello.arguments, hellos.front().arguments));
  }
}

}  // namespace

ReservedPort::ReservedPort(std::uint16_t wanted) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (!socket_.is_open() || !(bind_to(socket_, wanted) || bind_to(socket_, 0))) {
    throw Error(fmt::format("no free TCP port for the ranks to meet: {}", std::strerror(errno)));
  }
  // Set after the bind, which proved the port free; rank 0 may then listen there.
  constexpr int kYes = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
  number_ = bound_port(socket_);
}

/// {"name": "libtorch", "version": "1.13.1"}; older builds send "libtorch 1.13.1".
template <>
struct JsonCodec<RankLibrary> {
  static Json write(const RankLibrary& library) {
    return {{"name", library.name}, {"version", library.version}};
  }
  static RankLibrary read(const Json& json, const JsonPath& path) {
    if (json.is_string()) {
      const std::string& text = json.string();
      const std::size_t blank = text.find(' ');
      return {text.substr(0, blank), blank == std::string::npos ? "" : text.substr(blank + 1)};
    }
    return {json_member_as<std::string>(json, "name", path.text()),
            json_member_as<std::string>(json, "version", path.text())};
  }
};

template <>
struct JsonMembers<RankHello> {
  static constexpr std::tuple kTable{required("rank", &RankHello::rank),
                                     required("size", &RankHello::size),
                                     required("pid", &RankHello::pid),
                                     required("library", &RankHello::library),
                                     required("no_counters", &RankHello::no_counters),
                                     optional("arguments", &RankHello::arguments),
                                     optional("host", &RankHello::host),
                                     optional("cores", &RankHello::cores),
                                     sparse("blas", &RankHello::blas),
                                     sparse("ids", &RankHello::ids)};
};

Json to_json(const RankHello& hello) {
  return json_of(hello);
}

RankHello rank_hello_from_json(const Json& json) {
  return json_to<RankHello>(json, JsonPath(""));
}

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

std::string last_output(const Child& child) {
  std::vector<std::string> lines = child.stderr_lines().lines();
  if (lines.size() > kLastOutputLines) lines.erase(lines.begin(), lines.end() - kLastOutputLines);
  return lines.empty() ? "" : "; its last output: " + join(lines, " | ");
}

RankGroup::RankGroup(const RankCommand& command) : port_(command.port) {
  for (int rank = 0; rank < command.ranks; ++rank) {
    RankPlace place;
    place.rank = place.local_rank = rank;
    place.size = command.ranks;
    place.local_size = command.ranks;
    place.meeting = Rendezvous{"127.0.0.1", port_.number()};
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
    throw_lost(rank, "it sent a message without a request");
  }
}

void RankGroup::throw_lost(std::size_t rank, const std::string& what) {
  const std::string words = members_[rank].child ? last_output(*members_[rank].child) : "";
  end_all();
  throw RankLost(fmt::format("rank {} of {} broke the protocol: {}{}{}", rank, size(), what, words,
                             size() > 1 ? "; the others were ended" : ""));
}

void RankGroup::send(const std::string& line) {
  for (RankMember& member : members_) member.channel.write_line(line, kEndTimeout);
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
    if (deadline.over()) report_missing(missing, "did not report " + awaited, timeout);
    wait_for_input(kPollInterval);
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
    // Polled before reading: lines written before the exit count.
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

void RankGroup::wait_for_input(milliseconds longest) {
  std::vector<pollfd> files;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const RankMember& member = members_[rank];
    // Its further lines belong to the next gather().
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

std::string RankGroup::exit_description(std::size_t rank) {
  RankMember& member = members_[rank];
  if (const int failure = member.channel.failure(); !member.child && failure != 0) {
    return fmt::format("is gone: its connection broke: {}", std::strerror(failure));
  }
  if (!member.child) return "is gone: its connection was closed";
  const auto status = member.child->poll_exit();
  if (!status) return "closed its channel" + last_output(*member.child);
  return (status->signalled ? "was " : "ended with ") + status->text() + last_output(*member.child);
}

std::optional<CollectiveHistory> RankGroup::remote_history(RankMember& member) {
  const Deadline deadline(kHistoryTimeout);
  if (!member.channel.write_line(std::string(1, kCollectivesMark), kHistoryTimeout)) return std::nullopt;
  std::string line;
  while (member.channel.read_line(line, milliseconds(deadline.poll_ms())) == Channel::Status::kLine) {
    if (!line.starts_with(kCollectivesMark)) continue;  // a late answer
    try {
      return collective_history_from_json(parse_json(line.substr(1), "the collectives of a rank"));
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

RankHistories RankGroup::histories() {
  RankHistories known;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    RankMember& member = members_[rank];
    auto history = member.collectives ? member.collectives->read() : remote_history(member);
    if (history) known[static_cast<int>(rank)] = std::move(*history);
  }
  return known;
}

void RankGroup::report_gone(std::size_t first) {
  const std::string at_work = collective_at_work(members_[first]);
  if (members_[first].child) members_[first].child->wait(kEndTimeout);
  // Other ranks fail with the first one.
  const Deadline grace_deadline(kFailureGrace);
  std::vector<std::size_t> gone;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    auto& child = members_[rank].child;
    if (rank == first || (child && child->wait(milliseconds(grace_deadline.poll_ms())))) gone.push_back(rank);
  }
  std::ranges::stable_sort(gone, {}, [&](std::size_t rank) {
    return members_[rank].child ? members_[rank].child->ended() : std::chrono::steady_clock::time_point();
  });
  std::vector<std::string> endings;
  for (const std::size_t rank : gone) {
    endings.push_back(fmt::format("rank {} of {} {}", rank, size(), exit_description(rank)));
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
    const std::string words = last_output(*members_[rank].child);
    message += fmt::format("; rank {}:{}", rank,
                           words.empty() ? " wrote nothing to standard error" : words.substr(1));
  }
  end_all();
  const std::string last = collectives_text(histories, kShownCollectives);
  throw RankLost(message + "; all ranks were ended" +
                 (last.empty() ? "" : "\nlast collectives of each rank:\n" + last));
}

void RankGroup::finish(milliseconds timeout) {
  const Deadline deadline(timeout);
  for (RankMember& member : members_) dismiss(member);
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
    wait_for_input(kPollInterval);
  }
}

void RankGroup::end_all() {
  for (RankMember& member : members_) {
    dismiss(member);
    if (!member.child) continue;
    member.child->signal_group(SIGTERM);
    member.child->signal_group(SIGCONT);
  }
  const Deadline deadline(kGrace);
  for (RankMember& member : members_) {
    if (member.child) member.child->terminate(milliseconds(deadline.poll_ms()));
  }
}

std::string refusal(const std::vector<Json>& replies) {
  for (const Json& reply : replies) {
    if (reply.is_object() && reply.contains("error")) return reply.value("error", "");
  }
  return {};
}

RankConversation::RankConversation(RankGroup& ranks, RankTimeouts timeouts, std::function<bool()> give_up)
    : ranks_(ranks), timeouts_(timeouts), give_up_(std::move(give_up)) {
  const auto lines = ranks_.gather(timeouts_.start, "its start", give_up_);
  if (!lines) throw Interrupted{};
  for (std::size_t rank = 0; rank < lines->size(); ++rank) {
    with_context(fmt::format("rank {}", rank), [&] {
      const Json hello = parse_json((*lines)[rank], "its greeting");
      if (hello.is_object() && hello.contains("error")) throw Error(hello.value("error", ""));
      hellos_.push_back(rank_hello_from_json(hello));
    });
  }
  require_same_arguments(hellos_);
  // Longer than our timeout, so that we name the missing rank.
  const double patience_s = std::chrono::duration<double>(timeouts_.reply + timeouts_.start).count();
  const auto replies = ask({{"do", "meet"}, {"timeout_s", patience_s}}, "meeting the others");
  if (const std::string why = refusal(replies); !why.empty()) throw Error("the ranks did not meet: " + why);
}

void RankConversation::require_backend(const std::string& backend) {
  // gloo needs only the meeting.
  if (backend == "gloo") return;
  const auto replies = ask({{"do", "backend"}, {"backend", backend}}, "whether it has " + backend);
  if (const std::string why = refusal(replies); !why.empty()) throw Error(why);
}

std::vector<Json> RankConversation::ask(Json request, const std::string& awaited) {
  ranks_.require_quiet();
  request["id"] = ++last_request_;
  ranks_.send(dump_json(request));
  std::optional<std::chrono::steady_clock::time_point> asked_to_stop;
  const auto lines = ranks_.gather(timeouts_.reply, awaited, [&] {
    if (!gives_up()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (!asked_to_stop) asked_to_stop = now;
    return now - *asked_to_stop > kInterruptTimeout;
  });
  if (!lines) throw Interrupted{};
  std::vector<Json> replies;
  for (std::size_t rank = 0; rank < lines->size(); ++rank) {
    replies.push_back(parse_json((*lines)[rank], fmt::format("the answer of rank {}", rank)));
    if (hellos_[rank].ids) require_id(rank, replies.back());
  }
  return replies;
}

void RankConversation::require_id(std::size_t rank, const Json& reply) {
  std::uint64_t id = 0;
  try {
    id = json_member_as<std::uint64_t>(reply, "id", "its answer");
  } catch (const Error& error) {
    ranks_.throw_lost(rank, error.what());
  }
  if (id != last_request_)
    ranks_.throw_lost(rank, fmt::format("it answered request {} instead of {}", id, last_request_));
}

std::string core_sharing(const std::vector<RankHello>& hellos, int threads, std::size_t cpus) {
  std::map<std::pair<std::string, int>, std::vector<int>> ranks_of;
  std::set<std::string> hosts;
  for (const RankHello& hello : hellos) {
    hosts.insert(hello.host);
    for (const int core : hello.cores) ranks_of[{hello.host, core}].push_back(hello.rank);
  }
  std::vector<std::string> shared;
  for (const auto& [core, ranks] : ranks_of) {
    if (ranks.size() < 2) continue;
    shared.push_back(fmt::format("ranks {} share core {}{}", fmt::join(ranks, ", "), core.second,
                                 hosts.size() > 1 ? " of " + core.first : ""));
  }
  const auto here = std::ranges::count(hellos, hellos.front().host, &RankHello::host);
  if (shared.empty() && static_cast<std::size_t>(here * threads) > cpus) {
    shared.push_back(fmt::format("{} ranks of {} share {}", here,
                                 counted(static_cast<std::size_t>(threads), "thread"), counted(cpus, "CPU")));
  }
  if (shared.empty()) return "";
  return join(shared, " and ") + ": they take turns to compute, which is slower than with one core per rank";
}

}  // namespace headroom
