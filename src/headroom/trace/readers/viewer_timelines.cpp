// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/viewer_timelines.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

/// The whole number right after `before` in `text`.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

struct Timeline {
  std::optional<std::int32_t> device;  ///< nothing: the host
  bool is_work = false;                ///< operations, not their names, modules or steps drawn above them
  bool is_ascend = false;
  std::int64_t stream = -1;
};

/// Of torch_npu's profiler: the streams of "Ascend Hardware", and each group of "Communication" ("HCCL"
/// once), whose planes draw the parts of the same operations again. The last five bits of the process are the
/// device (torch_npu's TraceEventManager::get_pid_format).
std::optional<Timeline> ascend_timeline_of(const Thread& thread) {
  const bool is_hardware = thread.process_name == "Ascend Hardware";
  if (!is_hardware && thread.process_name != "Communication" && thread.process_name != "HCCL")
    return std::nullopt;
  constexpr std::int64_t kDevices = 32, kGroupStreams = 1'000'000;
  const auto process = number_after(thread.pid, "");
  Timeline timeline{.device = static_cast<std::int32_t>(process.value_or(0) % kDevices), .is_ascend = true};
  if (const auto stream = number_after(thread.thread_name, is_hardware ? "Stream " : "Group ")) {
    timeline.is_work = true;
    // Groups have numbers of their own, apart from those of the streams.
    timeline.stream = is_hardware ? *stream : kGroupStreams + *stream;
  }
  return timeline;
}

/// What a stream of Ascend does while it waits for another, or marks that it came so far.
bool is_event_of_ascend(std::string_view name) {
  return contains(name, "EVENT_WAIT") || contains(name, "EVENT_RECORD") || contains(name, "NOTIFY_WAIT") ||
         contains(name, "NOTIFY_RECORD") || contains(name, "Notify_Wait") || contains(name, "Notify_Record");
}

Timeline timeline_of(const Thread& thread) {
  if (const auto ascend = ascend_timeline_of(thread)) return *ascend;
  Timeline timeline;
  for (const char* prefix : {"/device:GPU:", "/device:TPU:"}) {
    if (const auto device = number_after(thread.process_name, prefix)) {
      timeline.device = static_cast<std::int32_t>(*device);
    }
  }
  if (!timeline.device) return timeline;
  if (const auto stream = number_after(thread.thread_name, "Stream #")) {
    timeline.stream = *stream;
    timeline.is_work = true;
  } else {
    timeline.is_work = thread.thread_name == "XLA Ops" || thread.thread_name == "XLA Async Ops";
  }
  return timeline;
}

Category category_of_work(std::string_view name) {
  if (contains(name, "Memcpy") || contains(name, "memcpy") || contains(name, "MEMCPY"))
    return Category::kGpuMemcpy;
  if (contains(name, "Memset") || contains(name, "memset")) return Category::kGpuMemset;
  return Category::kKernel;
}

}  // namespace

void categorize_by_timeline(Trace& trace, const std::vector<std::uint32_t>& rows) {
  if (rows.empty()) return;
  std::vector<Timeline> timelines;
  for (const Thread& thread : trace.threads) timelines.push_back(timeline_of(thread));
  const bool has_devices =
      std::ranges::any_of(timelines, [](const Timeline& t) { return t.device.has_value(); });
  if (!has_devices) return;
  Events& events = trace.events;
  for (const std::uint32_t row : rows) {
    const Timeline& timeline = timelines[events.thread[row]];
    if (timeline.is_work && !(timeline.is_ascend && is_event_of_ascend(trace.names[events.name[row]]))) {
      events.category[row] = category_of_work(trace.names[events.name[row]]);
      events.detail[row] = static_cast<std::uint32_t>(trace.gpu.size());
      trace.gpu.push_back({.event = row, .device = *timeline.device, .stream = timeline.stream});
    } else if (timeline.device) {
      events.category[row] = Category::kGpuAnnotation;
    } else if (events.correlation[row] != kNoCorrelation) {
      events.category[row] = Category::kRuntime;
    }
  }
}

}  // namespace headroom::trace::readers
