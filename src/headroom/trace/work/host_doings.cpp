// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/host_doings.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headroom/base/text.h"
#include "headroom/trace/work/host_activity.h"
#include "headroom/trace/work/sync_waits.h"

namespace headroom::trace {
namespace {

bool is_compilation(std::string_view name) {
  constexpr std::array<std::string_view, 6> kParts{"dynamo_timed",  "compile_inner",    "compile_fx",
                                                   "compile_to_fn", "compile_and_call", "_compile_to_module"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return contains(name, part); });
}

bool is_collector(std::string_view name) {
  return contains(name, "gc.collect") || contains(name, "gc.py") || contains(name, "function collect>") ||
         contains(name, "method collect>") || name == "Python GC" || contains(name, "garbage_collect");
}

/// What an event says of itself; nothing where it is only a part of what it is in.
std::optional<HostDoing> own_doing(std::string_view name, Category category) {
  const bool is_call = category == Category::kRuntime || category == Category::kDriver;
  if (is_call && is_allocation_call(name)) return HostDoing::kAllocation;
  if (is_call && is_blocking_call(name)) return HostDoing::kSynchronisation;
  if (is_call) return HostDoing::kLaunch;
  if (is_data_loading(name)) return HostDoing::kDataLoading;
  if (is_compilation(name)) return HostDoing::kCompilation;
  if (category != Category::kCpuOp && is_collector(name)) return HostDoing::kCollector;
  return std::nullopt;
}

HostDoing plain_doing(Category category) {
  return category == Category::kCpuOp ? HostDoing::kOperator : HostDoing::kProgram;
}

}  // namespace

const char* to_string(HostDoing doing) {
  constexpr const char* kNames[kHostDoings] = {
      "data loading", "allocation", "compilation", "garbage collector", "synchronisation",
      "launch",       "operators",  "program",     "not recorded",      "not the host"};
  return kNames[static_cast<std::size_t>(doing)];
}

bool is_allocation_call(std::string_view name) {
  constexpr std::array<std::string_view, 14> kStarts{
      "cudaMalloc",  "cudaFree",      "cudaHostAlloc", "cudaHostRegister", "hipMalloc",
      "hipFree",     "hipHostMalloc", "hipHostFree",   "cuMemAlloc",       "cuMemFree",
      "cuMemCreate", "cuMemMap",      "cuMemUnmap",    "cuMemSetAccess"};
  return !contains(name, "Async") &&
         std::ranges::any_of(kStarts, [&](std::string_view start) { return name.starts_with(start); });
}

std::vector<HostDoing> host_doings(const Trace& trace, const HostOrder& host) {
  const Events& events = trace.events;
  std::vector<HostDoing> doing(events.size(), HostDoing::kNotRecorded);
  // What a name says of its event is asked once for each name and kind of event.
  constexpr std::size_t kCategories = static_cast<std::size_t>(Category::kOther) + 1;
  constexpr std::uint8_t kNew = 0xff, kNothing = 0xfe, kIsStep = 0xfd;
  std::vector<std::uint8_t> known(trace.names.size() * kCategories, kNew);
  for (const std::uint32_t event : host.events) {
    const Category category = events.category[event];
    std::uint8_t& said = known[events.name[event] * kCategories + static_cast<std::size_t>(category)];
    if (said == kNew) {
      const std::string_view name = trace.names[events.name[event]];
      const std::optional<HostDoing> own = own_doing(name, category);
      said = name.starts_with(kStepName) ? kIsStep : own ? static_cast<std::uint8_t>(*own) : kNothing;
    }
    if (said == kIsStep) continue;
    const std::uint32_t parent = host.parent[event];
    const HostDoing around = parent == kNone ? HostDoing::kNotRecorded : doing[parent];
    const bool is_inherited = around == HostDoing::kDataLoading || around == HostDoing::kCompilation ||
                              around == HostDoing::kCollector || around == HostDoing::kAllocation;
    doing[event] = is_inherited       ? around
                   : said == kNothing ? plain_doing(category)
                                      : static_cast<HostDoing>(said);
  }
  return doing;
}

std::uint32_t site_of(const Trace& trace, const std::vector<std::uint32_t>& parent, std::uint32_t event) {
  std::uint32_t op = kNone, program = kNone;
  for (std::uint32_t at = event; at != kNone; at = parent[at]) {
    const Category category = trace.events.category[at];
    // What ends earlier was only overlapped by it.
    const bool is_around = trace.events.end_ns(at) >= trace.events.end_ns(event);
    if (!is_around || trace.names[trace.events.name[at]].starts_with(kStepName)) continue;
    if (category == Category::kCpuOp) op = at;
    if (program == kNone && (category == Category::kPython || category == Category::kUserAnnotation))
      program = at;
  }
  return op != kNone ? op : program;
}

}  // namespace headroom::trace
