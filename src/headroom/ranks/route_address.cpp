// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/route_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>

#include "headroom/process/descriptor.h"

namespace headroom {
namespace {

std::string local_end(const addrinfo& there) {
  // A datagram socket that is connected has a route, and has sent nothing.
  const Descriptor socket(::socket(there.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage here{};
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (!socket.is_open() || ::connect(socket.get(), there.ai_addr, there.ai_addrlen) != 0 ||
      ::getsockname(socket.get(), address, &size) != 0) {
    return "";
  }
  std::array<char, NI_MAXHOST> text{};
  return ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0 ? text.data()
                                                                                                 : "";
}

}  // namespace

std::string local_address_to(const Meeting& place) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (::getaddrinfo(place.address.c_str(), std::to_string(place.port).c_str(), &hints, &found) != 0)
    return "";
  std::string local;
  for (const addrinfo* entry = found; entry != nullptr && local.empty(); entry = entry->ai_next)
    local = local_end(*entry);
  ::freeaddrinfo(found);
  return local;
}

}  // namespace headroom
