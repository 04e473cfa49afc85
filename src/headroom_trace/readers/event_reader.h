// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/readers/batch.h"
#include "headroom_trace/readers/event_fields.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace::readers {

ArgumentMask arguments_of(Category category, Needs needs);

/// Reads "[24, 1, 1]"; missing numbers keep their value.
void read_extent(Raw value, std::uint32_t (&size)[3]);

inline constexpr ArgumentMask kMemoryArguments =
    mask_of(Argument::kDeviceType, Argument::kDeviceId, Argument::kBytes, Argument::kAddress,
            Argument::kTotalAllocated, Argument::kTotalReserved, Argument::kHeldBefore, Argument::kStack);

template <typename Values>
std::uint32_t add_collective(Values& values, Batch& batch) {
  Collective& collective = batch.collectives.emplace_back();
  const auto name_of = [&](Argument argument, NameId& id) {
    if (values.has(argument)) id = values.text(argument, batch);
  };
  name_of(Argument::kCollectiveName, collective.name);
  name_of(Argument::kGroupName, collective.group);
  name_of(Argument::kGroupRanks, collective.ranks);
  name_of(Argument::kDtype, collective.dtype);
  values.take(Argument::kElementsIn, collective.elements_in);
  values.take(Argument::kElementsOut, collective.elements_out);
  values.take(Argument::kGroupSize, collective.group_size);
  return static_cast<std::uint32_t>(batch.collectives.size() - 1);
}

template <typename Values>
std::uint32_t add_gpu_detail(Needs needs, Values& values, std::uint32_t row, Batch& batch) {
  GpuDetail& detail = batch.gpu.emplace_back();
  detail.event = row;
  values.take(Argument::kDevice, detail.device);
  values.take(Argument::kStream, detail.stream);
  values.take(Argument::kExternalId, detail.external_id);
  if (has(needs, Needs::kGpuArguments)) {
    values.take(Argument::kBytes, detail.bytes);
    values.take(Argument::kBandwidth, detail.bandwidth_gb_s);
    values.take(Argument::kBlocksPerSm, detail.blocks_per_sm);
    values.take(Argument::kWarpsPerSm, detail.warps_per_sm);
    values.take(Argument::kOccupancy, detail.occupancy_percent);
    values.take(Argument::kRegisters, detail.registers_per_thread);
    values.extent(Argument::kGrid, detail.grid);
    values.extent(Argument::kBlock, detail.block);
    if (values.has(Argument::kCollectiveName)) detail.collective = add_collective(values, batch);
  }
  return static_cast<std::uint32_t>(batch.gpu.size() - 1);
}

template <typename Values>
std::uint32_t add_op_detail(Needs needs, Values& values, std::uint32_t row, Batch& batch) {
  OpDetail detail{.event = row};
  bool has_any = false;
  const auto number = [&](Argument argument, std::int64_t& value) {
    if (!values.has(argument)) return;
    values.take(argument, value);
    has_any = true;
  };
  number(Argument::kExternalId, detail.external_id);
  number(Argument::kSequence, detail.sequence);
  number(Argument::kForwardThread, detail.forward_thread);
  const auto value = [&](Argument argument, NameId& id) {
    if (!values.has(argument)) return;
    id = values.json(argument, batch);
    has_any = true;
  };
  if (has(needs, Needs::kOpArguments)) {
    value(Argument::kDims, detail.dims);
    value(Argument::kTypes, detail.types);
    value(Argument::kStrides, detail.strides);
    value(Argument::kValues, detail.values);
    if (values.has_text(Argument::kStack)) {
      detail.stack = values.text(Argument::kStack, batch);
      has_any = true;
    }
    if (values.has(Argument::kCollectiveName)) {
      detail.collective = add_collective(values, batch);
      has_any = true;
    }
  }
  if (!has_any) return kNone;
  batch.ops.push_back(detail);
  return static_cast<std::uint32_t>(batch.ops.size() - 1);
}

template <typename Values>
std::uint32_t add_sync_detail(Values& values, std::uint32_t row, Batch& batch) {
  SyncDetail& detail = batch.syncs.emplace_back();
  detail.event = row;
  if (values.has(Argument::kSyncKind)) detail.kind = values.text(Argument::kSyncKind, batch);
  values.take(Argument::kDevice, detail.device);
  values.take(Argument::kStream, detail.stream);
  values.take(Argument::kWaitOnStream, detail.wait_on_stream);
  values.take(Argument::kWaitOnRecord, detail.wait_on_event_record_correlation);
  values.take(Argument::kWaitOnEvent, detail.wait_on_event_id);
  return static_cast<std::uint32_t>(batch.syncs.size() - 1);
}

/// Returns the row in the table of the category, or kNone if there is nothing to store.
template <typename Values>
std::uint32_t add_detail(Category category, Needs needs, Values& values, std::uint32_t row, Batch& batch) {
  switch (category) {
    case Category::kKernel:
    case Category::kGpuMemcpy:
    case Category::kGpuMemset:
      return add_gpu_detail(needs, values, row, batch);
    case Category::kCpuOp:
    case Category::kUserAnnotation:
      return add_op_detail(needs, values, row, batch);
    case Category::kGpuSync:
      // MTIA names no call.
      if (!values.has(Argument::kSyncKind) && !values.has(Argument::kCorrelation)) return kNone;
      return add_sync_detail(values, row, batch);
    default:
      return kNone;
  }
}

template <typename Values>
void add_memory_event(MemoryEvent event, Values& values, Batch& batch) {
  values.take(Argument::kDeviceType, event.device_type);
  values.take(Argument::kDeviceId, event.device);
  values.take(Argument::kBytes, event.bytes);
  values.take(Argument::kAddress, event.address);
  values.take(Argument::kTotalAllocated, event.total_allocated);
  values.take(Argument::kTotalReserved, event.total_reserved);
  int held_before = 0;
  values.take(Argument::kHeldBefore, held_before);
  event.is_held_before = held_before == 1;
  if (values.has_text(Argument::kStack)) event.stack = values.text(Argument::kStack, batch);
  batch.memory.push_back(event);
}

struct EventValues {
  Arguments arguments;
  LocalTables tables;
  std::uint64_t offset = 0;

  NameId text(Raw value, Batch& batch);
  NameId text(Argument argument, Batch& batch) { return text(arguments[argument], batch); }
  NameId json(Argument argument, Batch& batch);

  bool has(Argument argument) const { return arguments.has(argument); }
  bool has_text(Argument argument) const { return !without_quotes(arguments[argument]).empty(); }
  void extent(Argument argument, std::uint32_t (&size)[3]) const { read_extent(arguments[argument], size); }

  /// Keeps `number` if the argument is absent or unreadable.
  template <typename Number>
  void take(Argument argument, Number& number) const {
    if (!has(argument)) return;
    if constexpr (std::is_integral_v<Number>) {
      if (const auto whole = quick_integer(arguments[argument])) number = static_cast<Number>(*whole);
    } else {
      if (const auto real = parse_real(arguments[argument])) number = static_cast<Number>(*real);
    }
  }
};

inline constexpr std::size_t kCategories = static_cast<std::size_t>(Category::kOther) + 1;

/// One per reading thread.
class EventReader {
 public:
  explicit EventReader(Needs needs);

  /// Reads the event at `offset` in the file. Returns the walk after it; a broken walk, adding nothing, if it
  /// is not an object.
  Walk read(Walk walk, std::uint64_t offset, Batch& batch);

  /// Sets the stack (JSON text) of the batch's last allocation.
  void add_stack(Raw stack, Batch& batch) { batch.memory.back().stack = values_.text(stack, batch); }

  /// Adds new table entries; call before handing the batch on.
  void flush_tables(Batch& batch);

 private:
  Walk walk_event(Walk walk);
  AfterMember read_arguments(Walk walk);
  Category cached_category();
  void refine_category();
  bool is_skipped() const;
  ArgumentMask wanted_arguments() const;

  bool may_be_old_kineto_annotation() const;
  void add_event(Batch& batch);
  void add_duration(Batch& batch);
  void add_end(Batch& batch);
  void add_instant(Batch& batch);
  void add_flow(Batch& batch);
  void add_name_event(Batch& batch);
  void add_labels(Batch& batch);
  void add_precise_time(std::uint32_t row, Batch& batch);

  /// Returns nothing, counting the event as skipped, if unreadable.
  std::optional<std::int64_t> start(Batch& batch);
  std::int64_t duration(Batch& batch);
  std::uint32_t thread();

  Needs needs_;
  std::array<ArgumentMask, kCategories> wanted_;
  /// Cache: adjacent events mostly share it.
  std::array<char, 40> category_text_{};
  std::size_t category_size_ = 0;
  Category category_of_text_ = Category::kOther;
  EventFields fields_;
  EventValues values_;
  Walk later_;
  char phase_ = 0;
  Category category_ = Category::kOther;
};

}  // namespace headroom::trace::readers
