// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "headroom/trace/readers/structural_walk.h"

namespace headroom::trace {

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

/// The values of one event's arguments as the file has them.
class Arguments {
 public:
  /// Empty when the argument is absent (a JSON null is "null").
  Raw operator[](Argument argument) const {
    return (present_ >> static_cast<unsigned>(argument) & 1U) != 0 ? values_[static_cast<unsigned>(argument)]
                                                                   : Raw{};
  }
  bool has(Argument argument) const { return (present_ >> static_cast<unsigned>(argument) & 1U) != 0; }

  /// From the object that the walk is on; anything that is no object has no arguments. False when it is
  /// broken.
  bool read(Walk walk);
  void clear() { present_ = 0; }

 private:
  std::uint64_t present_ = 0;
  std::array<Raw, static_cast<std::size_t>(Argument::kCount)> values_;
};

}  // namespace headroom::trace
