// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_details.h"

#include <charconv>

namespace headroom::trace::readers {
namespace {

/// "[24, 1, 1]" as three numbers; what is missing stays as it was.
void read_triple(Raw value, std::uint32_t (&triple)[3]) {
  if (value.size() < 2 || value.front() != '[') return;
  const char* at = value.data() + 1;
  const char* const end = value.data() + value.size() - 1;
  for (std::uint32_t& number : triple) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    if (at == end) return;
    at = std::from_chars(at, end, number).ptr;
  }
}

constexpr ArgumentMask kCollectiveArguments =
    mask_of(Argument::kCollectiveName, Argument::kGroupName, Argument::kGroupRanks, Argument::kGroupSize,
            Argument::kDtype, Argument::kElementsIn, Argument::kElementsOut);
constexpr ArgumentMask kGpuArguments =
    mask_of(Argument::kBytes, Argument::kBandwidth, Argument::kBlocksPerSm, Argument::kWarpsPerSm,
            Argument::kOccupancy, Argument::kRegisters, Argument::kGrid, Argument::kBlock);
constexpr ArgumentMask kOpArguments =
    mask_of(Argument::kDims, Argument::kTypes, Argument::kStrides, Argument::kValues, Argument::kStack);

std::uint32_t add_collective(EventValues& values, Batch& batch) {
  Collective& collective = batch.collectives.emplace_back();
  const auto name_of = [&](Argument argument, NameId& id) {
    if (values.arguments.has(argument)) id = values.text(values.arguments[argument], batch);
  };
  name_of(Argument::kCollectiveName, collective.name);
  name_of(Argument::kGroupName, collective.group);
  name_of(Argument::kGroupRanks, collective.ranks);
  name_of(Argument::kDtype, collective.dtype);
  collective.elements_in = values.real(Argument::kElementsIn, -1);
  collective.elements_out = values.real(Argument::kElementsOut, -1);
  collective.group_size = values.whole<std::int32_t>(Argument::kGroupSize, -1);
  return static_cast<std::uint32_t>(batch.collectives.size() - 1);
}

std::uint32_t add_gpu_detail(Needs needs, EventValues& values, std::uint32_t row, Batch& batch) {
  GpuDetail& detail = batch.gpu.emplace_back();
  detail.event = row;
  detail.device = values.whole<std::int32_t>(Argument::kDevice, -1);
  detail.stream = values.whole<std::int64_t>(Argument::kStream, -1);
  detail.external_id = values.whole<std::int64_t>(Argument::kExternalId, -1);
  if (has(needs, Needs::kGpuArguments)) {
    detail.bytes = values.real(Argument::kBytes, -1);
    detail.bandwidth_gb_s = values.real(Argument::kBandwidth, -1);
    detail.blocks_per_sm = static_cast<float>(values.real(Argument::kBlocksPerSm, -1));
    detail.warps_per_sm = static_cast<float>(values.real(Argument::kWarpsPerSm, -1));
    detail.occupancy_percent = static_cast<float>(values.real(Argument::kOccupancy, -1));
    detail.registers_per_thread = values.whole<std::int32_t>(Argument::kRegisters, -1);
    read_triple(values.arguments[Argument::kGrid], detail.grid);
    read_triple(values.arguments[Argument::kBlock], detail.block);
    if (values.arguments.has(Argument::kCollectiveName)) detail.collective = add_collective(values, batch);
  }
  return static_cast<std::uint32_t>(batch.gpu.size() - 1);
}

std::uint32_t add_op_detail(Needs needs, EventValues& values, std::uint32_t row, Batch& batch) {
  OpDetail detail{.event = row};
  bool has_any = false;
  const auto number = [&](Argument argument, std::int64_t& value) {
    if (!values.arguments.has(argument)) return;
    value = values.whole<std::int64_t>(argument, -1);
    has_any = true;
  };
  number(Argument::kExternalId, detail.external_id);
  number(Argument::kSequence, detail.sequence);
  number(Argument::kForwardThread, detail.forward_thread);
  const auto value = [&](Argument argument, NameId& id) {
    if (!values.arguments.has(argument)) return;
    id = values.json(values.arguments[argument], batch);
    has_any = true;
  };
  if (has(needs, Needs::kOpArguments)) {
    value(Argument::kDims, detail.dims);
    value(Argument::kTypes, detail.types);
    value(Argument::kStrides, detail.strides);
    value(Argument::kValues, detail.values);
    if (!without_quotes(values.arguments[Argument::kStack]).empty()) {
      detail.stack = values.text(values.arguments[Argument::kStack], batch);
      has_any = true;
    }
    if (values.arguments.has(Argument::kCollectiveName)) {
      detail.collective = add_collective(values, batch);
      has_any = true;
    }
  }
  if (!has_any) return kNone;
  batch.ops.push_back(detail);
  return static_cast<std::uint32_t>(batch.ops.size() - 1);
}

std::uint32_t add_sync_detail(EventValues& values, std::uint32_t row, Batch& batch) {
  SyncDetail& detail = batch.syncs.emplace_back();
  detail.event = row;
  if (values.arguments.has(Argument::kSyncKind))
    detail.kind = values.text(values.arguments[Argument::kSyncKind], batch);
  detail.device = values.whole<std::int32_t>(Argument::kDevice, -1);
  detail.stream = values.whole<std::int64_t>(Argument::kStream, -1);
  detail.wait_on_stream = values.whole<std::int64_t>(Argument::kWaitOnStream, -1);
  detail.wait_on_event_record_correlation = values.whole<std::int64_t>(Argument::kWaitOnRecord, -1);
  detail.wait_on_event_id = values.whole<std::int64_t>(Argument::kWaitOnEvent, -1);
  return static_cast<std::uint32_t>(batch.syncs.size() - 1);
}

}  // namespace

ArgumentMask arguments_of(Category category, Needs needs) {
  ArgumentMask wanted = 0;
  switch (category) {
    case Category::kKernel:
    case Category::kGpuMemcpy:
    case Category::kGpuMemset:
      wanted = mask_of(Argument::kCorrelation, Argument::kDevice, Argument::kStream, Argument::kExternalId);
      return has(needs, Needs::kGpuArguments) ? wanted | kGpuArguments | kCollectiveArguments : wanted;
    case Category::kRuntime:
    case Category::kDriver:
      return mask_of(Argument::kCorrelation);
    case Category::kCpuOp:
    case Category::kUserAnnotation:
      if (has(needs, Needs::kOpIds))
        wanted = mask_of(Argument::kExternalId, Argument::kSequence, Argument::kForwardThread);
      return has(needs, Needs::kOpArguments) ? wanted | kOpArguments | kCollectiveArguments : wanted;
    case Category::kGpuSync:
      return mask_of(Argument::kCorrelation, Argument::kSyncKind, Argument::kDevice, Argument::kStream,
                     Argument::kWaitOnStream, Argument::kWaitOnRecord, Argument::kWaitOnEvent);
    case Category::kGpuAnnotation:
    case Category::kPython:
    case Category::kOverhead:
    case Category::kOther:
      break;
  }
  return 0;
}

std::uint32_t add_detail(Category category, Needs needs, EventValues& values, std::uint32_t row,
                         Batch& batch) {
  switch (category) {
    case Category::kKernel:
    case Category::kGpuMemcpy:
    case Category::kGpuMemset:
      return add_gpu_detail(needs, values, row, batch);
    case Category::kCpuOp:
    case Category::kUserAnnotation:
      return add_op_detail(needs, values, row, batch);
    case Category::kGpuSync:
      return add_sync_detail(values, row, batch);
    default:
      return kNone;
  }
}

}  // namespace headroom::trace::readers
