// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/event_arguments.h"
#include "headroom/trace/readers/quick_number.h"

namespace headroom::trace::readers {

/// The arguments of the event at hand, and the tables that texts go to.
struct EventValues {
  Arguments arguments;
  LocalTables tables;
  std::uint64_t offset = 0;  ///< of the event in the file

  NameId text(Raw value, Batch& batch);
  NameId json(Raw value, Batch& batch);

  template <typename Integer>
  Integer whole(Argument argument, Integer absent) const {
    const auto value = arguments.has(argument) ? quick_whole(arguments[argument]) : std::nullopt;
    return value ? static_cast<Integer>(*value) : absent;
  }
  double real(Argument argument, double absent) const {
    return arguments.has(argument) ? parse_real(arguments[argument]).value_or(absent) : absent;
  }
};

}  // namespace headroom::trace::readers
