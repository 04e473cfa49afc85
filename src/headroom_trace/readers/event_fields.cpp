// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

struct Spelling {
  std::string_view text;
  Category category;
};

// Most frequent first.
constexpr std::array kSpellings{
    Spelling{"cpu_op", Category::kCpuOp},
    Spelling{"python_function", Category::kPython},
    Spelling{"cuda_runtime", Category::kRuntime},
    Spelling{"kernel", Category::kKernel},
    Spelling{"gpu_memcpy", Category::kGpuMemcpy},
    Spelling{"user_annotation", Category::kUserAnnotation},
    Spelling{"gpu_memset", Category::kGpuMemset},
    Spelling{"cuda_driver", Category::kDriver},
    Spelling{"gpu_user_annotation", Category::kGpuAnnotation},
    Spelling{"cuda_sync", Category::kGpuSync},
    Spelling{"overhead", Category::kOverhead},
    Spelling{"hip_runtime", Category::kRuntime},
    Spelling{"hip_sync", Category::kGpuSync},
    Spelling{"Operator", Category::kCpuOp},
    Spelling{"Runtime", Category::kRuntime},
    Spelling{"Kernel", Category::kKernel},
    Spelling{"Memcpy", Category::kGpuMemcpy},
    Spelling{"Memset", Category::kGpuMemset},
    Spelling{"mtia_ccp_events", Category::kKernel},
    Spelling{"mtia_runtime", Category::kRuntime},
    Spelling{"xpu_runtime", Category::kRuntime},
    Spelling{"xpu_driver", Category::kDriver},
    Spelling{"privateuse1_runtime", Category::kRuntime},
    Spelling{"privateuse1_driver", Category::kDriver},
};

struct Key {
  std::string_view text;
  Argument argument;
};

// New Kineto, old Kineto, ROCm, XPU (sycl queue), JAX (correlation_id), Ascend (connection_id).
constexpr std::array kKeys{
    Key{"External id", Argument::kExternalId},
    Key{"external id", Argument::kExternalId},
    Key{"correlation", Argument::kCorrelation},
    Key{"correlation_id", Argument::kCorrelation},
    Key{"connection_id", Argument::kCorrelation},
    Key{"device", Argument::kDevice},
    Key{"stream", Argument::kStream},
    Key{"sycl queue", Argument::kStream},
    Key{"bytes", Argument::kBytes},
    Key{"Bytes", Argument::kBytes},
    Key{"memory bandwidth (GB/s)", Argument::kBandwidth},
    Key{"blocks per SM", Argument::kBlocksPerSm},
    Key{"warps per SM", Argument::kWarpsPerSm},
    Key{"est. achieved occupancy %", Argument::kOccupancy},
    Key{"registers per thread", Argument::kRegisters},
    Key{"grid", Argument::kGrid},
    Key{"block", Argument::kBlock},
    Key{"Sequence number", Argument::kSequence},
    Key{"Fwd thread id", Argument::kForwardThread},
    Key{"Input Dims", Argument::kDims},
    Key{"Input dims", Argument::kDims},
    Key{"Input type", Argument::kTypes},
    Key{"Input Strides", Argument::kStrides},
    Key{"Concrete Inputs", Argument::kValues},
    Key{"Call stack", Argument::kStack},
    Key{"Collective name", Argument::kCollectiveName},
    Key{"Process Group Name", Argument::kGroupName},
    Key{"Process Group Ranks", Argument::kGroupRanks},
    Key{"Group size", Argument::kGroupSize},
    Key{"dtype", Argument::kDtype},
    Key{"In msg nelems", Argument::kElementsIn},
    Key{"Out msg nelems", Argument::kElementsOut},
    Key{"In msg size", Argument::kElementsIn},
    Key{"Out msg size", Argument::kElementsOut},
    Key{"cuda_sync_kind", Argument::kSyncKind},
    Key{"hip_sync_kind", Argument::kSyncKind},
    Key{"wait_on_stream", Argument::kWaitOnStream},
    Key{"wait_on_cuda_event_record_corr_id", Argument::kWaitOnRecord},
    Key{"wait_on_hip_event_record_corr_id", Argument::kWaitOnRecord},
    Key{"wait_on_cuda_event_id", Argument::kWaitOnEvent},
    Key{"wait_on_hip_event_id", Argument::kWaitOnEvent},
    Key{"Device Type", Argument::kDeviceType},
    Key{"Device Id", Argument::kDeviceId},
    Key{"Addr", Argument::kAddress},
    Key{"Total Allocated", Argument::kTotalAllocated},
    Key{"Total Reserved", Argument::kTotalReserved},
    Key{"Is Held Before", Argument::kHeldBefore},
    Key{"name", Argument::kName},
    Key{"labels", Argument::kLabels},
};

/// A perfect hash.
constexpr std::size_t slot_of(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  return (text.size() + 3 * at(0) + 7 * at(text.size() - 4) + 5 * at(text.size() - 1)) % 512;
}

constexpr std::size_t kShortest = 4, kLongest = 33;
constexpr std::uint8_t kFree = 0xff;

constexpr auto kSlots = [] {
  std::array<std::uint8_t, 512> slots{};
  slots.fill(kFree);
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    // If keys collide, change the multipliers.
    if (slots[slot_of(kKeys[i].text)] != kFree) throw "two keys in one slot";
    slots[slot_of(kKeys[i].text)] = static_cast<std::uint8_t>(i);
  }
  return slots;
}();
static_assert(std::ranges::all_of(kKeys, [](const Key& key) {
  return key.text.size() >= kShortest && key.text.size() <= kLongest;
}));

/// Calls of memcmp would dominate.
bool is_same(std::string_view a, std::string_view b) {
  static_assert(kShortest == 4);
  if (a.size() != b.size()) return false;
  if (a.size() >= 8) return are_equal(a.data(), b.data(), a.size());
  return std::memcmp(a.data(), b.data(), 4) == 0 &&
         std::memcmp(a.data() + a.size() - 4, b.data() + a.size() - 4, 4) == 0;
}

const Key* find_key(std::string_view text) {
  if (text.size() < kShortest || text.size() > kLongest) return nullptr;
  const std::uint8_t slot = kSlots[slot_of(text)];
  return slot != kFree && is_same(kKeys[slot].text, text) ? &kKeys[slot] : nullptr;
}

}  // namespace

Category category_of(std::string_view text) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.text == text) return spelling.category;
  }
  return Category::kOther;
}

Argument argument_of(std::string_view name) {
  const Key* const key = find_key(name);
  return key == nullptr ? Argument::kCount : key->argument;
}

std::string_view spelling_of(Argument argument) {
  return std::ranges::find(kKeys, argument, &Key::argument)->text;
}

Needs need_of(Category category) {
  switch (category) {
    case Category::kKernel:
    case Category::kGpuMemcpy:
    case Category::kGpuMemset:
    case Category::kUserAnnotation:
      return Needs::kGpuWork;
    case Category::kRuntime:
    case Category::kDriver:
      return Needs::kLaunches;
    case Category::kCpuOp:
      return Needs::kOpEvents;
    case Category::kPython:
      return Needs::kPython;
    case Category::kGpuSync:
      return Needs::kSyncs;
    case Category::kGpuAnnotation:
    case Category::kOverhead:
    case Category::kOther:
      break;
  }
  return Needs::kOthers;
}

Walk Arguments::read(Walk walk, ArgumentMask wanted) {
  present_ = 0;
  if (walk.token() != '{' || wanted == 0) return past_value(walk);
  return walk_object(walk, [&](std::string_view text, Walk at) -> AfterMember {
    const Key* const key = find_key(text);
    if (key == nullptr || (wanted & mask_of(key->argument)) == 0) return {past_value(at)};
    at = take_value(at, values_[static_cast<unsigned>(key->argument)]);
    present_ |= mask_of(key->argument);
    if ((present_ & wanted) != wanted || at.at == nullptr) return {at};
    return {past_close(at, true, kValue), true};
  });
}

std::string shown(Raw value) {
  constexpr std::size_t kMost = 60;
  const std::string_view text = without_quotes(value);
  return quote(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

bool is_known_phase(char phase) {
  return phase != '\0' &&
         std::string_view("XBEiIRCbneSTpFtsfNODPvVc(),M").find(phase) != std::string_view::npos;
}

std::string phase_error(Raw phase) {
  if (without_quotes(phase).empty()) return "an event without a phase (ph)";
  return fmt::format("an unknown phase (ph): {}", shown(phase));
}

std::string long_phase_error(Raw phase) {
  return fmt::format("a phase of more than one letter, {}, read as its first", shown(phase));
}

std::string time_error(Raw ts) {
  if (ts.empty()) return "an event without a time (ts)";
  if (is_number(ts)) return fmt::format("ts is out of range, 73 years either side of zero: {}", shown(ts));
  return fmt::format("ts is not a number: {}", shown(ts));
}

std::string duration_error(Raw value) {
  if (value.empty()) return "an X event without a duration (dur), read as 0";
  const char* const what = parse_microseconds(value) ? "negative"
                           : is_number(value)        ? "out of range"
                                                     : "not a number";
  return fmt::format("dur is {}: {}, read as 0", what, shown(value));
}

}  // namespace headroom::trace::readers
