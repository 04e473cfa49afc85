// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/trace/columns/rank_numbers.h"
#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/json_text.h"

namespace headroom::trace::readers {
namespace {

/// A member as a whole number, which may stand in a string; the first of the keys that is there.
std::optional<std::int64_t> whole(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Json* member = object.find(key);
    if (member == nullptr) continue;
    return parse_whole(member->is_string() ? member->string() : dump_json(*member));
  }
  return std::nullopt;
}

std::string text(const Json& object, const char* key) {
  const Json* member = object.find(key);
  return member != nullptr && member->is_string() ? member->string() : std::string();
}

/// Kineto's deviceProperties, and the computeProperties of its earliest files.
void read_devices(const Json& list, Trace& trace) {
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    const auto number = [&](std::initializer_list<const char*> keys, std::int64_t absent = 0) {
      return static_cast<std::int32_t>(whole(entry, keys).value_or(absent));
    };
    DeviceProperties& device = trace.devices.emplace_back();
    device.id = number({"id"}, static_cast<std::int64_t>(trace.devices.size()) - 1);
    device.name = text(entry, "name");
    device.total_memory_bytes = static_cast<double>(whole(entry, {"totalGlobalMem"}).value_or(0));
    device.multiprocessors = number({"numSms", "multiProcessorCount"});
    device.max_threads_per_multiprocessor =
        number({"maxThreadsPerMultiprocessor", "maxThreadsPerMultiProcessor"});
    device.warp_size = number({"warpSize"}, 32);
  }
}

/// What headroom writes of a memory snapshot.
void read_pools(const Json& list, Trace& trace) {
  constexpr std::size_t kMostPools = 4096;
  for (const Json& entry : list) {
    if (!entry.is_object() || trace.memory_pools.size() == kMostPools) continue;
    const auto number = [&](const char* key, std::int64_t most = std::int64_t{1} << 56) {
      return std::clamp<std::int64_t>(whole(entry, {key}).value_or(0), 0, most);
    };
    constexpr std::int64_t kMostDevice = std::numeric_limits<std::int32_t>::max();
    MemoryPool& pool = trace.memory_pools.emplace_back();
    pool.device_type = static_cast<std::int32_t>(number("device_type", kMostDevice));
    pool.device = static_cast<std::int32_t>(number("device", kMostDevice));
    pool.segments = number("segments");
    pool.reserved_bytes = number("reserved_bytes");
    pool.active_bytes = number("active_bytes");
    pool.requested_bytes = number("requested_bytes");
    pool.free_whole_bytes = number("free_whole_bytes");
    pool.inactive_split_bytes = number("inactive_split_bytes");
    pool.largest_free_bytes = number("largest_free_bytes");
    pool.out_of_memory = number("out_of_memory");
    pool.wanted_bytes = number("wanted_bytes");
    pool.device_free_bytes = number("device_free_bytes");
    if (const std::string stack = text(entry, "wanted_stack"); !stack.empty())
      pool.wanted_stack = trace.names.intern(stack);
  }
}

void read_distributed(const Json& info, Trace& trace) {
  if (const auto rank = whole(info, {"rank"}); rank && *rank >= 0) trace.rank = rank;
  if (const auto size = whole(info, {"world_size"}); size && *size > 0) trace.world_size = size;
  trace.communication_backend = text(info, "backend");
}

/// headroom's recorders count what they had no room or no times for.
std::string dropped_records_text(std::int64_t dropped) {
  return fmt::format(
      "{} {} dropped while this was recorded: work of the device is missing, its times are too short and its "
      "gaps too long",
      dropped, dropped == 1 ? "record was" : "records were");
}

}  // namespace

bool is_metadata_key(std::string_view key) {
  return key == "deviceProperties" || key == "computeProperties" || key == "distributedInfo" ||
         key == "baseTimeNanoseconds" || key == "schemaVersion" || key == "dropped_records" ||
         key == "memory_pools";
}

void read_metadata(std::string_view key, std::string_view value, std::uint64_t offset, Trace& trace) {
  const auto amiss = [&](const char* what) {
    append(trace.problems, {1, 0, {{offset, fmt::format("{} is {}", in_quotes(key), what)}}});
  };
  if (key == "schemaVersion") {
    trace.schema_version = parse_whole(value);
  } else if (key == "dropped_records") {
    const auto dropped = parse_whole(value);
    if (!dropped || *dropped < 0) return amiss("no number of records, and left out");
    if (*dropped > 0) append(trace.problems, {1, 0, {{offset, dropped_records_text(*dropped)}}});
  } else if (key == "baseTimeNanoseconds") {
    const auto base = parse_whole(value);
    if (!base || *base > kMostNs || *base < -kMostNs) return amiss("not a time; times have no base");
    trace.base_time_ns = *base;
  } else {
    if (!is_json(value)) return amiss("not JSON, and left out");
    const Json json = parse_json(value, trace.source);
    if (key == "distributedInfo" && json.is_object()) return read_distributed(json, trace);
    if (key == "memory_pools" && json.is_array()) return read_pools(json, trace);
    if (key != "distributedInfo" && json.is_array()) return read_devices(json, trace);
    amiss(key == "distributedInfo" ? "no object, and left out" : "no array, and left out");
  }
}

void read_rank_from_name(Trace& trace) {
  if (!trace.rank) trace.rank = rank_in_name(trace.source);
}

}  // namespace headroom::trace::readers
