// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/reserved_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "headroom/base/error.h"

namespace headroom {
namespace {

bool bind_to(const Descriptor& socket, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace

ReservedPort::ReservedPort(std::uint16_t wanted) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (!socket_.is_open() || !(bind_to(socket_, wanted) || bind_to(socket_, 0))) {
    throw Error(fmt::format("no TCP port is free for the ranks to meet: {}", std::strerror(errno)));
  }
  // Only now: taking the port shows that nobody has it, sharing it lets rank 0 listen there.
  constexpr int kYes = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
  number_ = port_of(socket_);
}

}  // namespace headroom
