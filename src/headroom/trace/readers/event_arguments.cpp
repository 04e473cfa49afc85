// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_arguments.h"

#include <algorithm>
#include <string_view>

namespace headroom::trace {
namespace {

struct Key {
  std::string_view text;
  Argument argument;
};

// Spellings of old and new Kineto, ROCm, and JAX (correlation_id).
constexpr auto kKeys = [] {
  std::array keys{
      Key{"External id", Argument::kExternalId},
      Key{"external id", Argument::kExternalId},
      Key{"correlation", Argument::kCorrelation},
      Key{"correlation_id", Argument::kCorrelation},
      Key{"device", Argument::kDevice},
      Key{"stream", Argument::kStream},
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
  std::sort(keys.begin(), keys.end(),
            [](const Key& a, const Key& b) { return a.text.size() < b.text.size(); });
  return keys;
}();

constexpr std::size_t kLongest = kKeys.back().text.size();

/// kKeys[kFirst[n]] is the first of length n or more.
constexpr auto kFirst = [] {
  std::array<std::uint8_t, kLongest + 2> first{};
  std::size_t at = 0;
  for (std::size_t length = 0; length < first.size(); ++length) {
    while (at < kKeys.size() && kKeys[at].text.size() < length) ++at;
    first[length] = static_cast<std::uint8_t>(at);
  }
  return first;
}();

const Key* find_key(std::string_view text) {
  if (text.size() > kLongest) return nullptr;
  for (std::size_t i = kFirst[text.size()]; i < kFirst[text.size() + 1]; ++i) {
    if (kKeys[i].text == text) return &kKeys[i];
  }
  return nullptr;
}

}  // namespace

bool Arguments::read(Walk walk) {
  present_ = 0;
  if (walk.at == nullptr || walk.token() != '{') return true;
  return walk_object(walk, [&](std::string_view text) {
    const Key* const key = find_key(text);
    if (key == nullptr) return skip_value(walk);
    const auto slot = static_cast<unsigned>(key->argument);
    present_ |= std::uint64_t{1} << slot;
    return take_value(walk, values_[slot]);
  });
}

}  // namespace headroom::trace
