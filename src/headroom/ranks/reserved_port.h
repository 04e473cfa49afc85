// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "headroom/process/descriptor.h"

namespace headroom {

/// A TCP port of this machine that nobody else uses, held for a program that will listen on it with
/// SO_REUSEADDR, as c10d's TCPStore does: until this is gone the kernel gives the port to nobody who does not
/// say that.
class ReservedPort {
 public:
  /// `wanted` where it is free, else any other. Throws Error when there is none.
  explicit ReservedPort(std::uint16_t wanted = 0);

  std::uint16_t number() const { return number_; }

 private:
  Descriptor socket_;
  std::uint16_t number_ = 0;
};

}  // namespace headroom
