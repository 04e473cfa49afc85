// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_arguments.h"

#include <algorithm>
#include <string_view>

namespace headroom::trace::readers {
namespace {

struct Key {
  std::string_view text;
  Argument argument;
};

// Spellings of old and new Kineto, ROCm, XPU (sycl queue), JAX (correlation_id) and Ascend (connection_id).
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
    Key{"name", Argument::kName},
    Key{"labels", Argument::kLabels},
};

/// A key is told from all others by its length, first, fifth from last and last characters: one look at a
/// table, and one comparison for those that are there.
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
    // Not constant, and so an error, when two keys meet: choose other numbers above.
    if (slots[slot_of(kKeys[i].text)] != kFree) throw "two keys in one slot";
    slots[slot_of(kKeys[i].text)] = static_cast<std::uint8_t>(i);
  }
  return slots;
}();
static_assert(std::ranges::all_of(kKeys, [](const Key& key) {
  return key.text.size() >= kShortest && key.text.size() <= kLongest;
}));

const Key* find_key(std::string_view text) {
  if (text.size() < kShortest || text.size() > kLongest) return nullptr;
  const std::uint8_t slot = kSlots[slot_of(text)];
  return slot != kFree && kKeys[slot].text == text ? &kKeys[slot] : nullptr;
}

}  // namespace

Walk Arguments::read(Walk walk, ArgumentMask wanted) {
  present_ = 0;
  if (walk.token() != '{' || wanted == 0) return past_value(walk);
  return walk_object(walk, [&](std::string_view text, Walk at) -> AfterMember {
    const Key* const key = find_key(text);
    if (key == nullptr || (wanted & mask_of(key->argument)) == 0) return {past_value(at)};
    at = take_value(at, values_[static_cast<unsigned>(key->argument)]);
    present_ |= mask_of(key->argument);
    if ((present_ & wanted) != wanted || at.at == nullptr) return {at};
    // The rest is of no interest.
    return {past_close(at, true, kValue), true};
  });
}

}  // namespace headroom::trace::readers
