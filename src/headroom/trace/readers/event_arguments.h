// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "headroom/trace/readers/structural_walk.h"

namespace headroom::trace::readers {

/// The arguments that some column holds.
enum class Argument : std::uint8_t {
  kExternalId,
  kCorrelation,
  kDevice,
  kStream,
  kBytes,
  kBandwidth,
  kBlocksPerSm,
  kWarpsPerSm,
  kOccupancy,
  kRegisters,
  kGrid,
  kBlock,
  kSequence,
  kForwardThread,
  kDims,
  kTypes,
  kStrides,
  kValues,
  kStack,
  kCollectiveName,
  kGroupName,
  kGroupRanks,
  kGroupSize,
  kDtype,
  kElementsIn,
  kElementsOut,
  kSyncKind,
  kWaitOnStream,
  kWaitOnRecord,
  kWaitOnEvent,
  kDeviceType,
  kDeviceId,
  kAddress,
  kTotalAllocated,
  kTotalReserved,
  kName,
  kLabels,
  kCount
};

/// A set of arguments.
using ArgumentMask = std::uint64_t;
constexpr ArgumentMask mask_of(Argument argument) {
  return ArgumentMask{1} << static_cast<unsigned>(argument);
}
template <typename... Arguments>
constexpr ArgumentMask mask_of(Argument first, Arguments... rest) {
  return mask_of(first) | mask_of(rest...);
}
static_assert(static_cast<unsigned>(Argument::kCount) <= 64);

/// The values of one event's arguments as the file has them.
class Arguments {
 public:
  bool has(Argument argument) const { return (present_ & mask_of(argument)) != 0; }
  /// Empty when the argument is absent (a JSON null is "null").
  Raw operator[](Argument argument) const {
    return has(argument) ? values_[static_cast<unsigned>(argument)] : Raw{};
  }
  void clear() { present_ = 0; }

  /// Takes those that are wanted from the value that the walk is on; anything that is no object has no
  /// arguments. Gives the walk after it.
  Walk read(Walk walk, ArgumentMask wanted);

 private:
  ArgumentMask present_ = 0;
  std::array<Raw, static_cast<std::size_t>(Argument::kCount)> values_;
};

}  // namespace headroom::trace::readers
