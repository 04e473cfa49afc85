// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_meeting.h"

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
#include "headroom/base/text.h"
#include "headroom/process/deadline.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetry{50};
/// How long to try one address before `give_up` is asked again.
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

/// A name in Linux's abstract space: no file that a killed job leaves, nothing that another user's job meets.
SocketAddress job_address(const RankPlace& place) {
  const std::string name = fmt::format("headroom/{}/{}", ::getuid(), place.job);
  SocketAddress address;
  auto* unix_address = reinterpret_cast<sockaddr_un*>(&address.storage);
  unix_address->sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof unix_address->sun_path - 1);
  // What tells jobs apart stands at the end.
  std::memcpy(unix_address->sun_path + 1, name.data() + (name.size() - length), length);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

/// An empty host: all addresses of this machine.
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
  // One listener for all families, where there is IPv6.
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

/// "127.0.0.1" and not a name that only here means this machine, as that of a host may in /etc/hosts.
bool says_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Where to listen, the narrowest first: the address that the others were told, where it is one of this
/// machine; behind an address that is translated, all of them.
std::vector<SocketAddress> addresses_to_listen_at(const RankPlace& place) {
  const std::string& host = place.meeting->address;
  std::vector<SocketAddress> addresses = tcp_addresses(host, port_of(place));
  if (says_loopback(host)) return addresses;
  std::erase_if(addresses, is_loopback);
  for (SocketAddress& any : tcp_addresses("", port_of(place))) addresses.push_back(any);
  return addresses;
}

/// Ranks of one machine meet where nobody else can come, whatever address they were told.
std::vector<SocketAddress> addresses_of(const RankPlace& place, bool to_listen) {
  if (place.on_one_machine()) return {job_address(place)};
  if (place.meeting)
    return to_listen ? addresses_to_listen_at(place) : tcp_addresses(place.meeting->address, port_of(place));
  throw Error(fmt::format(
      "{} started {} ranks, not all on this machine: set MASTER_ADDR and MASTER_PORT to where rank 0 "
      "can be reached",
      place.launcher, place.size));
}

/// Whether a process of the same user is at the other end; of another machine nobody knows.
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

/// These fail on a Unix socket, which needs none of them.
void set_tcp(const Descriptor& socket, int option, int value) {
  ::setsockopt(socket.get(), IPPROTO_TCP, option, &value, sizeof value);
}

/// A machine that is gone, or its network, says nothing: after half of the time its kernel is asked for a
/// sign, and three times more until it is over. Whole seconds, as TCP has it.
void break_after(const Descriptor& socket, milliseconds silence) {
  const auto ms = static_cast<int>(std::clamp<std::int64_t>(silence.count(), 1000, 1'000'000'000));
  constexpr int kYes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &kYes, sizeof kYes);
  set_tcp(socket, TCP_KEEPIDLE, std::max(1, ms / 2000));
  set_tcp(socket, TCP_KEEPINTVL, std::max(1, ms / 6000));
  set_tcp(socket, TCP_KEEPCNT, 3);
  set_tcp(socket, TCP_USER_TIMEOUT, ms);  // where something was sent and is not acknowledged
}

/// What connect() may take: without, minutes where an address does not answer. 0: no limit.
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

}  // namespace

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

}  // namespace headroom
