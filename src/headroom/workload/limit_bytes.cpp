// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/limit_bytes.h"

#include <string>

namespace headroom {

std::size_t limit_bytes(const State& state, std::size_t unit) {
  const auto asked = static_cast<std::size_t>(state.integer("bytes"));
  const std::size_t bytes = asked / unit * unit;
  if (bytes == 0) {
    state.skip("bytes=" + std::to_string(asked) + " is less than the " + std::to_string(unit) +
               " bytes that this limit moves at once");
  }
  return bytes;
}

}  // namespace headroom
