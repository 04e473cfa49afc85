// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_exchange.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/process/channel.h"

namespace headroom {
namespace {

/// Looks before sleeping, as waking up costs more than most messages. Yields, as the neighbour may share the
/// CPU.
constexpr int kSpinCount = 200;
/// Stays in the cache.
constexpr std::size_t kPiece = 256 << 10;

std::size_t next_of(const ExchangeRing& ring) {
  return static_cast<std::size_t>((ring.rank + 1) % ring.ranks);
}
std::size_t previous_of(const ExchangeRing& ring) {
  return static_cast<std::size_t>((ring.rank + ring.ranks - 1) % ring.ranks);
}

std::uint8_t pattern(std::size_t rank, std::size_t place) {
  return static_cast<std::uint8_t>(place * 31 + rank * 7 + 1);
}

void fill(std::uint8_t* data, std::size_t bytes, std::size_t rank) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(rank, i);
}

bool matches_pattern(const std::uint8_t* data, std::size_t bytes, std::size_t rank) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != pattern(rank, i)) return false;
  }
  return true;
}

[[noreturn]] void fail(const char* what) {
  throw Error(fmt::format("ranks cannot exchange data: {}: {}", what, std::strerror(errno)));
}

[[noreturn]] void throw_timeout(const ExchangeRing& ring) {
  throw Error(
      fmt::format("rank {} received nothing from its neighbours for {} ms", ring.rank, ring.timeout.count()));
}

// ------------------------------------------------------------------------------------------------ loopback

void disable_nagle(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

Descriptor listen_anywhere() {
  Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(0);
  if (!listener.is_open()) fail("socket");
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (::listen(listener.get(), 1) != 0) fail("listen");
  return listener;
}

std::uint16_t port_of(const Descriptor& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
  return ntohs(address.sin_port);
}

Descriptor connect_to(std::uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (!socket.is_open()) fail("socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("connect to 127.0.0.1");
  disable_nagle(socket.get());
  return socket;
}

class LoopbackExchange final : public Exchange {
 public:
  LoopbackExchange(std::size_t bytes, const ExchangeRing& ring)
      : ring_(ring), sent_(bytes), received_(bytes) {
    fill(sent_.data(), bytes, static_cast<std::size_t>(ring.rank));
    const Descriptor listener = listen_anywhere();
    const std::vector<std::int64_t> ports = ring.gather(port_of(listener));
    // Only ranks know the secret.
    const std::vector<std::int64_t> secrets = ring.gather(static_cast<std::int64_t>(std::random_device{}()));
    next_ = connect_to(static_cast<std::uint16_t>(ports.at(next_of(ring))));
    const std::int64_t greeting = secrets.at(next_of(ring));
    if (::send(next_.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) fail("send");
    accept_previous(listener, secrets.at(static_cast<std::size_t>(ring.rank)));
  }

  void run(std::uint64_t rounds) override {
    for (; rounds > 0; --rounds) round();
  }
  bool is_right() const override {
    return matches_pattern(received_.data(), received_.size(), previous_of(ring_));
  }

 private:
  void accept_previous(const Descriptor& listener, std::int64_t secret) {
    const Deadline deadline(ring_.timeout);
    while (true) {
      pollfd ready{listener.get(), POLLIN, 0};
      if (::poll(&ready, 1, deadline.poll_ms()) == 0) throw_timeout(ring_);
      previous_ = Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::int64_t greeting = 0;
      pollfd event{previous_.get(), POLLIN, 0};
      const bool spoke = previous_.is_open() && ::poll(&event, 1, 1000) == 1 &&
                         ::recv(previous_.get(), &greeting, sizeof greeting, MSG_WAITALL) == sizeof greeting;
      if (spoke && greeting == secret) return disable_nagle(previous_.get());
    }
  }

  void round() {
    std::size_t sent = 0, received = 0;
    int looks = 0;
    while (sent < sent_.size() || received < received_.size()) {
      const bool moved = send_piece(sent) + receive_piece(received) > 0;
      if (moved) {
        looks = 0;
      } else if (++looks < kSpinCount) {
        ::sched_yield();
      } else {
        wait(sent < sent_.size(), received < received_.size());
      }
    }
  }

  std::size_t send_piece(std::size_t& sent) {
    const std::size_t size = std::min(kPiece, sent_.size() - sent);
    if (size == 0) return 0;
    return moved(::send(next_.get(), sent_.data() + sent, size, MSG_DONTWAIT | MSG_NOSIGNAL), sent);
  }
  std::size_t receive_piece(std::size_t& received) {
    const std::size_t size = std::min(kPiece, received_.size() - received);
    if (size == 0) return 0;
    const auto count = ::recv(previous_.get(), received_.data() + received, size, MSG_DONTWAIT);
    if (count == 0) throw Error("the previous rank closed its connection");
    return moved(count, received);
  }
  static std::size_t moved(ssize_t count, std::size_t& total) {
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (count < 0) fail("a connection");
    total += static_cast<std::size_t>(count);
    return static_cast<std::size_t>(count);
  }

  void wait(bool to_send, bool to_receive) const {
    pollfd sockets[] = {{to_send ? next_.get() : -1, POLLOUT, 0},
                        {to_receive ? previous_.get() : -1, POLLIN, 0}};
    if (::poll(sockets, std::size(sockets), static_cast<int>(ring_.timeout.count())) == 0)
      throw_timeout(ring_);
  }

  ExchangeRing ring_;
  std::vector<std::uint8_t> sent_, received_;
  Descriptor next_, previous_;
};

// ------------------------------------------------------------------------------------------- shared memory

struct Outbox {
  static constexpr std::size_t kPlaces = 8;
  /// Both neighbours' places fit a core's caches.
  static constexpr std::size_t kPiece = 64 << 10;

  std::atomic<std::uint64_t> put{0};                // number of pieces
  alignas(64) std::atomic<std::uint64_t> taken{0};  // by the next rank
  alignas(64) std::array<std::array<std::uint8_t, kPiece>, kPlaces> places;
};

class SharedOutbox {
 public:
  explicit SharedOutbox(int descriptor)
      : data_(::mmap(nullptr, sizeof(Outbox), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                     0)) {
    if (data_ == MAP_FAILED) fail("mmap");
  }
  ~SharedOutbox() { ::munmap(data_, sizeof(Outbox)); }
  SharedOutbox(const SharedOutbox&) = delete;
  SharedOutbox& operator=(const SharedOutbox&) = delete;
  Outbox& operator*() const { return *static_cast<Outbox*>(data_); }
  Outbox* operator->() const { return &**this; }

 private:
  void* data_;
};

Descriptor new_memory() {
  // Zeroed: valid initial counts.
  Descriptor memory(::memfd_create("headroom-exchange", MFD_CLOEXEC));
  if (!memory.is_open() || ::ftruncate(memory.get(), sizeof(Outbox)) != 0) fail("memfd_create");
  return memory;
}

Descriptor memory_of(std::int64_t pid, std::int64_t descriptor) {
  Descriptor memory(::open(fmt::format("/proc/{}/fd/{}", pid, descriptor).c_str(), O_RDWR | O_CLOEXEC));
  if (!memory.is_open()) fail("open the memory of another rank");
  return memory;
}

class SharedMemoryExchange final : public Exchange {
 public:
  SharedMemoryExchange(std::size_t bytes, const ExchangeRing& ring)
      : ring_(ring), sent_(bytes), received_(bytes), memory_(new_memory()), own_(memory_.get()) {
    fill(sent_.data(), bytes, static_cast<std::size_t>(ring.rank));
    const std::vector<std::int64_t> pids = ring.gather(::getpid());
    const std::vector<std::int64_t> descriptors = ring.gather(memory_.get());
    const Descriptor theirs = memory_of(pids.at(previous_of(ring)), descriptors.at(previous_of(ring)));
    previous_ = std::make_unique<SharedOutbox>(theirs.get());
  }

  void run(std::uint64_t rounds) override {
    for (; rounds > 0; --rounds) round();
  }
  bool is_right() const override {
    return matches_pattern(received_.data(), received_.size(), previous_of(ring_));
  }

 private:
  void round() {
    std::size_t sent = 0, received = 0;
    int looks = 0;
    std::optional<Deadline> deadline;
    while (sent < sent_.size() || received < received_.size()) {
      const bool has_put = put(sent), has_taken = take(received);
      if (has_put || has_taken) {
        looks = 0;
        deadline.reset();
        continue;
      }
      if (++looks < kSpinCount) continue;
      ::sched_yield();
      if (!deadline) deadline.emplace(ring_.timeout);
      if (deadline->over()) throw_timeout(ring_);
    }
  }

  bool put(std::size_t& sent) {
    const std::size_t size = std::min(Outbox::kPiece, sent_.size() - sent);
    if (size == 0 || put_ - own_->taken.load(std::memory_order_acquire) == Outbox::kPlaces) return false;
    std::memcpy(own_->places[put_ % Outbox::kPlaces].data(), sent_.data() + sent, size);
    own_->put.store(++put_, std::memory_order_release);
    sent += size;
    return true;
  }
  bool take(std::size_t& received) {
    const Outbox& theirs = **previous_;
    const std::size_t size = std::min(Outbox::kPiece, received_.size() - received);
    if (size == 0 || theirs.put.load(std::memory_order_acquire) == taken_) return false;
    std::memcpy(received_.data() + received, theirs.places[taken_ % Outbox::kPlaces].data(), size);
    (*previous_)->taken.store(++taken_, std::memory_order_release);
    received += size;
    return true;
  }

  ExchangeRing ring_;
  std::vector<std::uint8_t> sent_, received_;
  Descriptor memory_;
  SharedOutbox own_;
  std::unique_ptr<SharedOutbox> previous_;
  std::uint64_t put_ = 0, taken_ = 0;  // pieces
};

}  // namespace

std::unique_ptr<Exchange> make_exchange(const std::string& way, std::size_t bytes, const ExchangeRing& ring) {
  if (way == "loopback") return std::make_unique<LoopbackExchange>(bytes, ring);
  if (way == "shared_memory") return std::make_unique<SharedMemoryExchange>(bytes, ring);
  throw Error("unknown exchange " + quote(way) + ": expected loopback or shared_memory");
}

}  // namespace headroom
