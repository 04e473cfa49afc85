// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/base/sha256.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kRetry{50};
/// Limit per address, before asking `give_up` again.
constexpr milliseconds kConnectTimeout{2000};
/// Limit on waiting for another leader's lock.
constexpr milliseconds kLockTimeout{5000};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::uint16_t port_of(const RankPlace& place) {
  return static_cast<std::uint16_t>(place.meeting->port + (place.launcher_listens ? 1 : 0));
}

/// False for a symbolic link.
bool is_private(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 0077U) == 0;
}

std::string fault_of(const struct stat& info) {
  if (!S_ISDIR(info.st_mode)) return "it is not a folder; remove it";
  if (info.st_uid != ::geteuid()) {
    return fmt::format(
        "it belongs to user {}, who could control the ranks; ask that user or root to remove it",
        info.st_uid);
  }
  return fmt::format("its mode {:04o} lets other users in; check its content, then chmod 700 it",
                     info.st_mode & 07777U);
}

void require_private(const fs::path& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || is_private(folder)) return;
  throw Error(fmt::format("the ranks cannot meet in {}: {}", quote(folder.string()), fault_of(info)));
}

std::vector<fs::path> rendezvous_folders() {
  std::vector<fs::path> folders;
  const fs::path session = fmt::format("/run/user/{}", ::geteuid());
  if (is_private(session)) folders.push_back(session / "headroom");
  folders.emplace_back(fmt::format("/tmp/headroom-{}", ::geteuid()));
  return folders;
}

/// For probing and replacing a socket.
Descriptor locked(const fs::path& folder) {
  Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  for (const Deadline deadline(kLockTimeout); ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK || deadline.over())
      throw Error(fmt::format("cannot lock {}: {}", quote(folder.string()), std::strerror(errno)));
    std::this_thread::sleep_for(milliseconds(5));
  }
  return lock;
}

SocketAddress unix_address(const fs::path& path) {
  SocketAddress address;
  auto* there = reinterpret_cast<sockaddr_un*>(&address.storage);
  there->sun_family = AF_UNIX;
  path.native().copy(there->sun_path, sizeof there->sun_path - 1);
  address.size = sizeof *there;
  return address;
}

/// Empty `host`: all addresses of this machine.
std::vector<SocketAddress> tcp_addresses(const std::string& host, std::uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  const int failure =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(fmt::format("MASTER_ADDR={} is not an address: {}", quote(host), ::gai_strerror(failure)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
  }
  ::freeaddrinfo(found);
  // An IPv6 listener accepts all families.
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

/// A host's own name may mean the loopback here only, through /etc/hosts.
bool is_loopback_name(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// The announced address if it is local, else all (behind address translation).
std::vector<SocketAddress> addresses_to_listen_at(const RankPlace& place) {
  const std::string& host = place.meeting->address;
  std::vector<SocketAddress> addresses = tcp_addresses(host, port_of(place));
  if (is_loopback_name(host)) return addresses;
  std::erase_if(addresses, is_loopback);
  for (SocketAddress& any : tcp_addresses("", port_of(place))) addresses.push_back(any);
  return addresses;
}

void require_rendezvous(const RankPlace& place) {
  if (place.is_single_machine() || place.meeting) return;
  throw Error(
      fmt::format("{} started {} ranks, not all on this machine: set MASTER_ADDR and MASTER_PORT to the "
                  "address and port of rank 0",
                  place.launcher, place.size));
}

std::vector<SocketAddress> addresses_to_try(const RankPlace& place) {
  if (!place.is_single_machine()) return tcp_addresses(place.meeting->address, port_of(place));
  std::vector<SocketAddress> addresses;
  const std::vector<fs::path> sockets = rendezvous_sockets(place);
  require_private(sockets.front().parent_path());  // rank 0 would refuse it too
  for (const fs::path& socket : sockets) {
    if (is_private(socket.parent_path())) addresses.push_back(unix_address(socket));
  }
  return addresses;
}

/// Nothing on the network.
std::optional<uid_t> user_of_peer(const Descriptor& socket) {
  ucred other{};
  socklen_t size = sizeof other;
  int family = 0;
  socklen_t family_size = sizeof family;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &family_size);
  if (family == AF_INET || family == AF_INET6) return std::nullopt;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) != 0)
    throw Error(fmt::format("cannot get the user of a connection: {}", std::strerror(errno)));
  return other.uid;
}

Descriptor make_socket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/// Fails on Unix sockets, harmlessly.
void set_tcp(const Descriptor& socket, int option, int value) {
  ::setsockopt(socket.get(), IPPROTO_TCP, option, &value, sizeof value);
}

/// Breaks the connection after `silence` of the other machine, in whole seconds, as TCP requires.
void set_silence_timeout(const Descriptor& socket, milliseconds silence) {
  const auto ms = static_cast<int>(std::clamp<std::int64_t>(silence.count(), 1000, 1'000'000'000));
  constexpr int kYes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &kYes, sizeof kYes);
  set_tcp(socket, TCP_KEEPIDLE, std::max(1, ms / 2000));
  set_tcp(socket, TCP_KEEPINTVL, std::max(1, ms / 6000));
  set_tcp(socket, TCP_KEEPCNT, 3);
  set_tcp(socket, TCP_USER_TIMEOUT, ms);
}

/// connect() may take minutes for a dead address. 0: no limit.
void limit_connecting(const Descriptor& socket, std::int64_t ms) {
  const timeval limit{ms / 1000, (ms % 1000) * 1000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

Channel channel_of(Descriptor socket, milliseconds silence) {
  set_tcp(socket, TCP_NODELAY, 1);
  set_silence_timeout(socket, silence);
  const int number = ::dup(socket.get());
  if (number < 0) throw Error(fmt::format("cannot duplicate a connection: {}", std::strerror(errno)));
  return Channel(number);
}

bool is_in_use(const SocketAddress& address) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), address.get(), address.size) == 0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

bool bind_and_listen(const Descriptor& socket, const SocketAddress& address) {
  return ::bind(socket.get(), address.get(), address.size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0;
}

[[noreturn]] void cannot_listen(const RankPlace& place, int error) {
  throw Error(fmt::format("rank 0 cannot listen at {}: {}; {}", rendezvous_name(place), std::strerror(error),
                          place.is_single_machine() ? "end the other job" : "choose another MASTER_PORT"));
}

}  // namespace

std::vector<fs::path> rendezvous_sockets(const RankPlace& place) {
  std::vector<fs::path> sockets = rendezvous_folders();
  // Hashed: a socket's path has at most 107 bytes.
  for (fs::path& socket : sockets) socket /= "ranks-" + sha256(place.job).substr(0, 32);
  return sockets;
}

std::string rendezvous_name(const RankPlace& place) {
  if (!place.is_single_machine()) return fmt::format("{}:{}", place.meeting->address, port_of(place));
  return fmt::format("the socket of job {}, {}", quote(place.job),
                     rendezvous_sockets(place).front().string());
}

RendezvousListener::RendezvousListener(const RankPlace& place, milliseconds silence) : silence_(silence) {
  require_rendezvous(place);
  if (place.is_single_machine()) {
    listen_in_folder(place, rendezvous_sockets(place).front());
  } else {
    listen_on_network(place);
  }
}

RendezvousListener::~RendezvousListener() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void RendezvousListener::listen_in_folder(const RankPlace& place, const fs::path& path) {
  const fs::path folder = path.parent_path();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw Error(
        fmt::format("cannot make {}, where ranks meet: {}", quote(folder.string()), std::strerror(errno)));
  require_private(folder);
  const Descriptor lock = locked(folder);
  const SocketAddress address = unix_address(path);
  if (is_in_use(address)) cannot_listen(place, EADDRINUSE);
  ::unlink(path.c_str());
  socket_ = make_socket(AF_UNIX);
  if (!bind_and_listen(socket_, address)) cannot_listen(place, errno);
  path_ = path;
}

void RendezvousListener::listen_on_network(const RankPlace& place) {
  int error = 0;
  for (const SocketAddress& address : addresses_to_listen_at(place)) {
    socket_ = make_socket(address.storage.ss_family);
    constexpr int kYes = 1, kNo = 0;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
    ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &kNo, sizeof kNo);
    if (bind_and_listen(socket_, address)) return;
    error = errno;
  }
  cannot_listen(place, error);
}

std::optional<Channel> RendezvousListener::accept() {
  pollfd entry{socket_.get(), POLLIN, 0};
  if (::poll(&entry, 1, 0) <= 0) return std::nullopt;
  Descriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.is_open() || user_of_peer(connection).value_or(::geteuid()) != ::geteuid())
    return std::nullopt;
  return channel_of(std::move(connection), silence_);
}

std::optional<Channel> connect_to_rendezvous(const RankPlace& place, const Deadline& deadline,
                                             milliseconds silence, const std::function<bool()>& give_up) {
  require_rendezvous(place);
  std::vector<SocketAddress> addresses;
  while (true) {
    int error = ENOENT;
    if (addresses.empty() || place.is_single_machine()) addresses = addresses_to_try(place);
    for (const SocketAddress& address : addresses) {
      Descriptor socket = make_socket(address.storage.ss_family);
      limit_connecting(socket, std::clamp<std::int64_t>(deadline.poll_ms(), 1, kConnectTimeout.count()));
      if (::connect(socket.get(), address.get(), address.size) == 0) {
        if (const auto user = user_of_peer(socket); user.value_or(::geteuid()) != ::geteuid()) {
          throw Error(
              fmt::format("rank {} refused the listener at {}: it belongs to user {}, not to this one ({}); "
                          "ask that user or root to end the program, then start the job again",
                          place.rank, rendezvous_name(place), *user, ::geteuid()));
        }
        limit_connecting(socket, 0);
        return channel_of(std::move(socket), silence);
      }
      error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    }
    if (give_up && give_up()) return std::nullopt;
    if (deadline.over()) {
      throw Error(fmt::format("rank {} found no rank 0 at {} within {:g} s: {}; is it running{}?", place.rank,
                              rendezvous_name(place), std::chrono::duration<double>(silence).count(),
                              std::strerror(error),
                              place.is_single_machine() ? ", as this user and in this version" : ""));
    }
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace headroom
