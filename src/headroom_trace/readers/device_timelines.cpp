// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/device_timelines.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "headroom/base/text.h"
#include "headroom_trace/columns/attribution.h"

namespace headroom::trace::readers {
namespace {

constexpr std::string_view kAscendHardware = "Ascend Hardware";

std::optional<std::int64_t> number_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

struct Timeline {
  std::optional<std::int32_t> device;  ///< host if empty
  bool is_work = false;                ///< not names, modules or steps
  bool is_ascend = false, is_stream = false;
  std::int64_t stream = -1;
};

/// torch_npu's streams of "Ascend Hardware" and groups of "Communication" (earlier "HCCL"), whose planes
/// repeat operations. The last five bits of the process id are the device
/// (TraceEventManager::get_pid_format).
std::optional<Timeline> ascend_timeline_of(const Thread& thread) {
  const bool is_hardware = thread.process_name == kAscendHardware;
  if (!is_hardware && thread.process_name != "Communication" && thread.process_name != "HCCL")
    return std::nullopt;
  constexpr std::int64_t kDevices = 32, kGroupStreams = 1'000'000;
  const auto process = number_after(thread.pid, "");
  Timeline timeline{.device = static_cast<std::int32_t>(process.value_or(0) % kDevices), .is_ascend = true};
  if (const auto stream = number_after(thread.thread_name, is_hardware ? "Stream " : "Group ")) {
    timeline.is_work = true;
    // Keeps groups distinct from streams.
    timeline.stream = is_hardware ? *stream : kGroupStreams + *stream;
  }
  return timeline;
}

bool is_ascend_event(std::string_view name) {
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
    timeline.is_work = timeline.is_stream = true;
  } else {
    timeline.is_work = thread.thread_name == "XLA Ops" || thread.thread_name == "XLA Async Ops";
  }
  return timeline;
}

/// "XLA Ops" repeat the work of the streams.
std::vector<Timeline> timelines_of(const Trace& trace) {
  std::vector<Timeline> timelines;
  std::set<std::string_view> with_streams;
  for (const Thread& thread : trace.threads) {
    timelines.push_back(timeline_of(thread));
    if (timelines.back().is_stream) with_streams.insert(thread.pid);
  }
  for (std::size_t i = 0; i < timelines.size(); ++i) {
    if (timelines[i].device && !timelines[i].is_ascend && with_streams.contains(trace.threads[i].pid))
      timelines[i].is_work = timelines[i].is_stream;
  }
  return timelines;
}

Category category_of_work(std::string_view name) {
  if (contains(name, "Memcpy") || contains(name, "memcpy") || contains(name, "MEMCPY"))
    return Category::kGpuMemcpy;
  if (contains(name, "Memset") || contains(name, "memset")) return Category::kGpuMemset;
  return Category::kKernel;
}

bool has_ascend_work(const Trace& trace) {
  return !trace.gpu.empty() &&
         std::ranges::find(trace.threads, kAscendHardware, &Thread::process_name) != trace.threads.end();
}

struct Instant {
  std::uint32_t thread = 0;
  std::int64_t at_ns = 0;
  auto operator<=>(const Instant&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct LaunchArrow {
  Instant from;
  std::uint32_t work = 0;   ///< of Trace::gpu
  std::uint32_t event = 0;  ///< innermost host event, or kNone
};

/// Of one category, ending at a start of work, sorted by start.
std::vector<LaunchArrow> arrows_to_work(const Trace& trace, std::string_view category) {
  std::map<Instant, std::uint32_t> work;
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    work.emplace(Instant{trace.events.thread[event], trace.events.start_ns[event]}, row);
  }
  std::map<std::int64_t, Instant> starts;
  std::vector<LaunchArrow> arrows;
  const auto is_wanted = [&](const Flow& flow) {
    return flow.category != kNoName && trace.names[flow.category] == category;
  };
  for (const Flow& flow : trace.flows) {
    if (flow.is_start && is_wanted(flow)) starts.insert_or_assign(flow.id, Instant{flow.thread, flow.at_ns});
  }
  for (const Flow& flow : trace.flows) {
    if (flow.is_start || !is_wanted(flow)) continue;
    const auto start = starts.find(flow.id);
    const auto end = work.find({flow.thread, flow.at_ns});
    if (start != starts.end() && end != work.end())
      arrows.push_back({.from = start->second, .work = end->second});
  }
  std::ranges::sort(arrows, {}, &LaunchArrow::from);
  return arrows;
}

std::vector<LaunchArrow> launch_arrows(const Trace& trace, std::string_view arrow_category,
                                       Category host_category) {
  std::vector<LaunchArrow> arrows = arrows_to_work(trace, arrow_category);
  if (arrows.empty()) return arrows;
  const Events& events = trace.events;
  const std::vector<std::uint32_t> order = nesting_order(trace, mask_of(host_category));
  std::vector<std::uint32_t> open;
  std::size_t next = 0;
  for (LaunchArrow& arrow : arrows) {
    const auto starts_before = [&](std::uint32_t event) {
      return Instant{events.thread[event], events.start_ns[event]} <= arrow.from;
    };
    for (; next < order.size() && starts_before(order[next]); ++next) open.push_back(order[next]);
    while (!open.empty() && (events.thread[open.back()] != arrow.from.thread ||
                             events.end_ns(open.back()) < arrow.from.at_ns)) {
      open.pop_back();
    }
    arrow.event = open.empty() ? kNone : open.back();
  }
  return arrows;
}

}  // namespace

void categorize_by_timeline(Trace& trace, const std::vector<std::uint32_t>& rows) {
  if (rows.empty()) return;
  const std::vector<Timeline> timelines = timelines_of(trace);
  const bool has_devices =
      std::ranges::any_of(timelines, [](const Timeline& t) { return t.device.has_value(); });
  if (!has_devices) return;
  Events& events = trace.events;
  for (const std::uint32_t row : rows) {
    const Timeline& timeline = timelines[events.thread[row]];
    if (timeline.is_work && !(timeline.is_ascend && is_ascend_event(trace.names[events.name[row]]))) {
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

Writer writer_of(const Trace& trace) {
  for (const Thread& thread : trace.threads) {
    const Timeline timeline = timeline_of(thread);
    if (timeline.device) return timeline.is_ascend ? Writer::kAscend : Writer::kJax;
  }
  const bool has_ops = std::ranges::any_of(trace.events.category, [](Category category) {
    return category == Category::kCpuOp || category == Category::kPython;
  });
  return has_ops || trace.schema_version || !trace.devices.empty() ? Writer::kPyTorch : Writer::kUnknown;
}

bool wants_launch_arrows(const Trace& trace, Needs needs) {
  return has(needs, Needs::kLaunches) && !has(needs, Needs::kFlows) && has_ascend_work(trace);
}

void follow_launch_arrows(Trace& trace) {
  if (trace.flows.empty() || !has_ascend_work(trace)) return;
  for (const LaunchArrow& arrow : launch_arrows(trace, "HostToDevice", Category::kRuntime)) {
    if (arrow.event == kNone) continue;
    trace.events.correlation[trace.gpu[arrow.work].event] = trace.events.correlation[arrow.event];
  }
  std::int64_t last_id = 0;
  for (const OpDetail& op : trace.ops) last_id = std::max(last_id, op.external_id);
  for (const LaunchArrow& arrow : launch_arrows(trace, "async_npu", Category::kCpuOp)) {
    if (arrow.event == kNone) continue;
    std::uint32_t& detail = trace.events.detail[arrow.event];
    if (detail == kNone) {
      detail = static_cast<std::uint32_t>(trace.ops.size());
      trace.ops.push_back({.event = arrow.event});
    }
    OpDetail& op = trace.ops[detail];
    if (op.external_id < 0) op.external_id = ++last_id;
    trace.gpu[arrow.work].external_id = op.external_id;
  }
}

}  // namespace headroom::trace::readers
