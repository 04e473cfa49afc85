// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/structural_walk.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace::readers {

/// Accepts "cat" of any known writer.
Category category_of(std::string_view text);

/// Returns kGpuWork for categories that are always kept.
Needs need_of(Category category);

/// Event members; empty if absent.
struct EventFields {
  Raw phase, category, name, pid, tid, ts, dur, id;
};

inline Raw* slot_of(EventFields& fields, Raw key) {
  // Constant sizes make each comparison one instruction.
  const auto is = [&]<std::size_t kSize>(const char(&text)[kSize]) {
    return std::memcmp(key.data(), text, kSize - 1) == 0;
  };
  switch (key.size()) {
    case 2:
      if (is("ph")) return &fields.phase;
      if (is("ts")) return &fields.ts;
      if (is("id")) return &fields.id;
      return nullptr;
    case 3:
      if (is("cat")) return &fields.category;
      if (is("pid")) return &fields.pid;
      if (is("tid")) return &fields.tid;
      if (is("dur")) return &fields.dur;
      return nullptr;
    case 4:
      return is("name") ? &fields.name : nullptr;
    default:
      return nullptr;
  }
}

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
  kHeldBefore,
  kName,
  kLabels,
  kCount
};

/// Accepts any known spelling; else returns kCount.
Argument argument_of(std::string_view name);
std::string_view spelling_of(Argument argument);

using ArgumentMask = std::uint64_t;
constexpr ArgumentMask mask_of(Argument argument) {
  return ArgumentMask{1} << static_cast<unsigned>(argument);
}
template <typename... Arguments>
constexpr ArgumentMask mask_of(Argument first, Arguments... rest) {
  return mask_of(first) | mask_of(rest...);
}
static_assert(static_cast<unsigned>(Argument::kCount) <= 64);

class Arguments {
 public:
  bool has(Argument argument) const { return (present_ & mask_of(argument)) != 0; }
  /// Empty if absent; null is "null".
  Raw operator[](Argument argument) const {
    return has(argument) ? values_[static_cast<unsigned>(argument)] : Raw{};
  }
  void clear() { present_ = 0; }

  /// Reads nothing from values other than objects. Returns the walk after the value.
  Walk read(Walk walk, ArgumentMask wanted);

 private:
  ArgumentMask present_ = 0;
  std::array<Raw, static_cast<std::size_t>(Argument::kCount)> values_;
};

std::string shown(Raw value);

bool is_known_phase(char phase);

// For Problem::what.
std::string phase_error(Raw phase);  ///< absent or unknown
std::string long_phase_error(Raw phase);
std::string time_error(Raw ts);         ///< absent, not a number, or out of range
std::string duration_error(Raw value);  ///< not a number, negative, or out of range

}  // namespace headroom::trace::readers
