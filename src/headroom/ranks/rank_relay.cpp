// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_relay.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/process/channel.h"
#include "headroom/ranks/rank_environment.h"

namespace headroom {
namespace {

/// The listening socket of a job's meeting place, see rank_relay.h.
class MeetingListener {
 public:
  /// Connections break after `silence` without a sign of the other machine. Throws Error if the place is
  /// taken, or if the ranks run on several machines and no address was given.
  MeetingListener(const RankPlace& place, std::chrono::milliseconds silence);

  /// Returns the next connection, of this user where that is known; nothing within `longest`.
  std::optional<Channel> accept(std::chrono::milliseconds longest);
  int fd() const { return socket_.get(); }

 private:
  Descriptor socket_;
  std::chrono::milliseconds silence_;
};

using std::chrono::milliseconds;

constexpr milliseconds kRetry{50};
/// Time to try one address before asking `give_up` again.
constexpr milliseconds kLongestConnecting{2000};

/// An address of any family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::uint16_t port_of(const RankPlace& place) {
  return static_cast<std::uint16_t>(place.meeting->port + (place.launcher_listens ? 1 : 0));
}

std::string name_of(const RankPlace& place) {
  if (place.meeting && !place.on_one_machine())
    return fmt::format("{}:{}", place.meeting->address, port_of(place));
  return "the socket of job " + in_quotes(place.job);
}

/// A name in Linux's abstract namespace: leaves no file after a kill and is distinct per user.
SocketAddress job_address(const RankPlace& place) {
  const std::string name = fmt::format("headroom/{}/{}", ::getuid(), place.job);
  SocketAddress address;
  auto* unix_address = reinterpret_cast<sockaddr_un*>(&address.storage);
  unix_address->sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof unix_address->sun_path - 1);
  // Keep the end: it distinguishes jobs.
  std::memcpy(unix_address->sun_path + 1, name.data() + (name.size() - length), length);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

/// An empty host means all addresses of this machine.
std::vector<SocketAddress> tcp_addresses(const std::string& host, std::uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  const int failure =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(fmt::format("MASTER_ADDR={} is no address: {}", in_quotes(host), ::gai_strerror(failure)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
  }
  ::freeaddrinfo(found);
  // One listener for all families if there is IPv6.
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const SocketAddress& a) { return a.storage.ss_family == AF_INET6; });
  return addresses;
}

bool is_loopback(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr);
  const auto* ip4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
  return (ntohl(ip4->sin_addr.s_addr) >> 24U) == 127;
}

/// Uses "127.0.0.1": a host's own name may mean the loopback only here, through /etc/hosts.
bool says_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Returns where to listen, narrowest first: the announced address if it is one of this machine, else all
/// addresses (behind address translation).
std::vector<SocketAddress> addresses_to_listen_at(const RankPlace& place) {
  const std::string& host = place.meeting->address;
  std::vector<SocketAddress> addresses = tcp_addresses(host, port_of(place));
  if (says_loopback(host)) return addresses;
  std::erase_if(addresses, is_loopback);
  for (SocketAddress& any : tcp_addresses("", port_of(place))) addresses.push_back(any);
  return addresses;
}

/// Ranks of one machine meet at a private socket, whatever address was announced.
std::vector<SocketAddress> addresses_of(const RankPlace& place, bool to_listen) {
  if (place.on_one_machine()) return {job_address(place)};
  if (place.meeting)
    return to_listen ? addresses_to_listen_at(place) : tcp_addresses(place.meeting->address, port_of(place));
  throw Error(fmt::format(
      "{} started {} ranks, not all on this machine: set MASTER_ADDR and MASTER_PORT to where rank 0 "
      "can be reached",
      place.launcher, place.size));
}

/// Whether the peer is a process of the same user; unknown for other machines.
bool is_of_this_user(const Descriptor& socket) {
  ucred other{};
  socklen_t size = sizeof other;
  sockaddr_storage own{};
  socklen_t own_size = sizeof own;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &own_size) != 0) return false;
  if (own.ss_family != AF_UNIX) return true;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == ::getuid();
}

Descriptor make_socket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/// These fail on Unix sockets, which do not need them.
void set_tcp(const Descriptor& socket, int option, int value) {
  ::setsockopt(socket.get(), IPPROTO_TCP, option, &value, sizeof value);
}

/// Detects a dead machine or network: probes its kernel after half of `silence` without traffic and breaks
/// the connection when `silence` is over. Whole seconds, as TCP requires.
void break_after(const Descriptor& socket, milliseconds silence) {
  const auto ms = static_cast<int>(std::clamp<std::int64_t>(silence.count(), 1000, 1'000'000'000));
  constexpr int kYes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &kYes, sizeof kYes);
  set_tcp(socket, TCP_KEEPIDLE, std::max(1, ms / 2000));
  set_tcp(socket, TCP_KEEPINTVL, std::max(1, ms / 6000));
  set_tcp(socket, TCP_KEEPCNT, 3);
  set_tcp(socket, TCP_USER_TIMEOUT, ms);  // where something was sent and is not acknowledged
}

/// Time limit of connect(), which else takes minutes for a dead address. 0: no limit.
void limit_connecting(const Descriptor& socket, std::int64_t ms) {
  const timeval limit{ms / 1000, (ms % 1000) * 1000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

Channel channel_of(Descriptor socket, milliseconds silence) {
  set_tcp(socket, TCP_NODELAY, 1);
  break_after(socket, silence);
  const int number = ::dup(socket.get());
  if (number < 0) throw Error(fmt::format("cannot keep a connection: {}", std::strerror(errno)));
  return Channel(number);
}

using std::chrono::milliseconds;

constexpr milliseconds kRelayLook{200};
/// Time for an unknown peer to introduce itself.
constexpr milliseconds kIntroduction{2000};
/// Time for a rank's process to end once asked.
constexpr milliseconds kEnd{5000};

using Ranks = std::vector<std::optional<Channel>>;  ///< by rank; rank 0 stays empty

/// Limit for a rank's introduction line, which only a long token reaches.
constexpr std::size_t kLongestIntroduction = 64 << 10;

struct Introduction {
  int rank = 0, size = 0;
  std::string token;
};

/// Throws Error for an invalid introduction.
Introduction introduction_of(const std::string& line) {
  const Json json = parse_json(line, "an introduction");
  return {json_member_as<int>(json, "rank", ""), json_member_as<int>(json, "size", ""),
          json_member_or<std::string>(json, "token", "", "")};
}

/// Unidentified connections to rank 0. None blocks another or ends the job unless it is known to belong to
/// it.
class Door {
 public:
  Door(const RankPlace& place, milliseconds timeout)
      : place_(place), listener_(place, timeout), ranks_(static_cast<std::size_t>(place.size)) {}

  /// Waits briefly for a connection or an introduction.
  void wait() {
    std::vector<pollfd> files{{listener_.fd(), POLLIN, 0}};
    for (const Visitor& visitor : visitors_) files.push_back({visitor.channel.fd(), POLLIN, 0});
    ::poll(files.data(), files.size(), static_cast<int>(kRelayLook.count()));
    if (auto channel = listener_.accept(milliseconds(0))) {
      channel->limit_lines(kLongestIntroduction);
      visitors_.push_back({std::move(*channel), Deadline(kIntroduction)});
      // More connections than ranks: drop the oldest.
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
  /// "; 3 connections were refused", or empty.
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

  /// Whether a peer with the right token certainly belongs to this job: same user, or the token is secret.
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

/// Relays lines until one side closes.
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
  /// Relays all available lines. Returns false at the end.
  static bool carry(Channel& from, Channel& to) {
    std::string line;
    while (true) {
      const Channel::Status status = from.read_line(line, milliseconds(0));
      if (status == Channel::Status::kTimeout) return true;
      if (status != Channel::Status::kLine) return false;
      to.write_line(line, kEnd);
    }
  }

  /// Relays a line of the leader. Requests to this process are answered here, as the rank may hang.
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

  /// The leader is done with this rank or unreachable.
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

MeetingListener::MeetingListener(const RankPlace& place, milliseconds silence) : silence_(silence) {
  int error = 0;
  for (const SocketAddress& address : addresses_of(place, true)) {
    socket_ = make_socket(address.storage.ss_family);
    constexpr int kYes = 1, kNo = 0;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
    ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &kNo, sizeof kNo);
    if (::bind(socket_.get(), address.get(), address.size) == 0 && ::listen(socket_.get(), SOMAXCONN) == 0)
      return;
    error = errno;
  }
  throw Error(fmt::format("rank 0 cannot listen at {}: {}; {}", name_of(place), std::strerror(error),
                          place.on_one_machine() ? "end the other job" : "choose another MASTER_PORT"));
}

std::optional<Channel> MeetingListener::accept(milliseconds longest) {
  pollfd entry{socket_.get(), POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(longest.count())) <= 0) return std::nullopt;
  Descriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.is_open() || !is_of_this_user(connection)) return std::nullopt;
  return channel_of(std::move(connection), silence_);
}

/// Connects to the listener of the job, which may start later. Nothing if `give_up` returns true. The
/// connection breaks after `timeout` without a sign of the other machine (kernel keep-alive). Throws Error if
/// nobody listens within the time.
std::optional<Channel> connect_to_meeting(const RankPlace& place, milliseconds timeout,
                                          const std::function<bool()>& give_up) {
  const Deadline deadline(timeout);
  const std::vector<SocketAddress> addresses = addresses_of(place, false);
  while (true) {
    int error = 0;
    for (const SocketAddress& address : addresses) {
      Descriptor socket = make_socket(address.storage.ss_family);
      limit_connecting(socket, std::clamp<std::int64_t>(deadline.poll_ms(), 1, kLongestConnecting.count()));
      if (::connect(socket.get(), address.get(), address.size) == 0) {
        limit_connecting(socket, 0);
        return channel_of(std::move(socket), timeout);
      }
      error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    }
    if (give_up && give_up()) return std::nullopt;
    if (deadline.over()) {
      throw Error(fmt::format("rank {} found no rank 0 at {} within {:g} s: {}; is it running?", place.rank,
                              name_of(place), std::chrono::duration<double>(timeout).count(),
                              std::strerror(error)));
    }
    std::this_thread::sleep_for(kRetry);
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
