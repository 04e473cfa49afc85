// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <utility>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {
// Avoids an ODR violation: the library has a class of this name.
inline namespace by_hand {

constexpr std::int64_t kUs = 1000, kMs = 1000 * kUs;

/// Builds a Trace as from a Kineto file, in ns. References are valid until the next call:
/// `builder.kernel("gemm", 10, 5).grid[0] = 80;`
class TraceBuilder {
 public:
  static constexpr const char* kHostPid = "1000";

  Trace trace;

  std::uint32_t thread(const std::string& pid, const std::string& tid, const std::string& labels = "") {
    for (std::uint32_t row = 0; row < trace.threads.size(); ++row) {
      if (trace.threads[row].pid == pid && trace.threads[row].tid == tid) return row;
    }
    trace.threads.push_back({pid, tid, "python", labels, ""});
    return static_cast<std::uint32_t>(trace.threads.size() - 1);
  }

  std::uint32_t event(Category category, const std::string& name, std::int64_t start_ns,
                      std::int64_t duration_ns, std::uint32_t on_thread,
                      std::int64_t correlation = kNoCorrelation) {
    Events& events = trace.events;
    events.start_ns.push_back(start_ns);
    events.duration_ns.push_back(duration_ns);
    events.name.push_back(trace.names.intern(name));
    events.thread.push_back(on_thread);
    events.category.push_back(category);
    events.correlation.push_back(correlation);
    events.detail.push_back(kNone);
    ++trace.events_seen;
    return static_cast<std::uint32_t>(events.size() - 1);
  }

  /// By default on device 0, stream 7.
  GpuDetail& gpu(Category category, const std::string& name, std::int64_t start_ns, std::int64_t duration_ns,
                 std::int64_t correlation = kNoCorrelation, std::int32_t device = 0,
                 std::int64_t stream = 7) {
    const std::string pid = std::to_string(device);
    const std::uint32_t row = event(category, name, start_ns, duration_ns,
                                    thread(pid, std::to_string(stream), "GPU " + pid), correlation);
    trace.events.detail[row] = static_cast<std::uint32_t>(trace.gpu.size());
    GpuDetail& detail = trace.gpu.emplace_back();
    detail.event = row;
    detail.device = device;
    detail.stream = stream;
    return detail;
  }
  GpuDetail& kernel(const std::string& name, std::int64_t start_ns, std::int64_t duration_ns,
                    std::int64_t correlation = kNoCorrelation, std::int32_t device = 0,
                    std::int64_t stream = 7) {
    return gpu(Category::kKernel, name, start_ns, duration_ns, correlation, device, stream);
  }
  GpuDetail& copy(std::int64_t start_ns, std::int64_t duration_ns, std::int64_t correlation = kNoCorrelation,
                  std::int32_t device = 0, std::int64_t stream = 7) {
    return gpu(Category::kGpuMemcpy, "Memcpy HtoD (Pinned -> Device)", start_ns, duration_ns, correlation,
               device, stream);
  }
  GpuDetail& set(std::int64_t start_ns, std::int64_t duration_ns, std::int64_t correlation = kNoCorrelation,
                 std::int32_t device = 0, std::int64_t stream = 7) {
    return gpu(Category::kGpuMemset, "Memset (Device)", start_ns, duration_ns, correlation, device, stream);
  }

  /// Returns its row in trace.events.
  std::uint32_t runtime(const std::string& name, std::int64_t start_ns, std::int64_t duration_ns,
                        std::int64_t correlation = kNoCorrelation, const std::string& tid = "1") {
    return event(Category::kRuntime, name, start_ns, duration_ns, thread(kHostPid, tid, "CPU"), correlation);
  }
  GpuDetail& launch(std::int64_t call_ns, std::int64_t call_duration_ns, const std::string& name,
                    std::int64_t start_ns, std::int64_t duration_ns, std::int64_t correlation,
                    std::int32_t device = 0, std::int64_t stream = 7) {
    runtime("cudaLaunchKernel", call_ns, call_duration_ns, correlation);
    return kernel(name, start_ns, duration_ns, correlation, device, stream);
  }
  OpDetail& op(const std::string& name, std::int64_t start_ns, std::int64_t duration_ns,
               std::int64_t external_id = -1, const std::string& tid = "1") {
    return with_op_detail(Category::kCpuOp, name, start_ns, duration_ns, external_id, tid);
  }
  OpDetail& annotation(const std::string& name, std::int64_t start_ns, std::int64_t duration_ns,
                       std::int64_t external_id = -1, const std::string& tid = "1") {
    return with_op_detail(Category::kUserAnnotation, name, start_ns, duration_ns, external_id, tid);
  }
  std::uint32_t python(const std::string& name, std::int64_t start_ns, std::int64_t duration_ns,
                       const std::string& tid = "1") {
    return event(Category::kPython, name, start_ns, duration_ns, thread(kHostPid, tid));
  }
  void step(std::int64_t number, std::int64_t start_ns, std::int64_t duration_ns) {
    annotation("ProfilerStep#" + std::to_string(number), start_ns, duration_ns);
  }

  SyncDetail& sync(const std::string& kind, std::int64_t start_ns, std::int64_t duration_ns,
                   std::int64_t correlation = kNoCorrelation, std::int32_t device = 0,
                   std::int64_t stream = -1, std::int64_t wait_on_stream = -1,
                   std::int64_t wait_on_record = -1) {
    const std::uint32_t row = event(Category::kGpuSync, kind, start_ns, duration_ns,
                                    thread(std::to_string(device), std::to_string(stream)), correlation);
    trace.events.detail[row] = static_cast<std::uint32_t>(trace.syncs.size());
    SyncDetail& detail = trace.syncs.emplace_back();
    detail.event = row;
    detail.kind = trace.names.intern(kind);
    detail.device = device;
    detail.stream = stream;
    detail.wait_on_stream = wait_on_stream;
    detail.wait_on_event_record_correlation = wait_on_record;
    return detail;
  }

  /// Of the last gpu() or op(): `builder.collective(builder.kernel(…))`.
  template <typename Detail>
  Collective& collective(Detail& detail, const std::string& name, const std::string& group = "0",
                         std::int32_t group_size = 2) {
    detail.collective = static_cast<std::uint32_t>(trace.collectives.size());
    Collective& collective = trace.collectives.emplace_back();
    collective.name = trace.names.intern(name);
    collective.group = trace.names.intern(group);
    collective.group_size = group_size;
    return collective;
  }

  DeviceProperties& device(std::int32_t id, const std::string& name, std::int32_t multiprocessors = 80,
                           std::int32_t max_threads_per_multiprocessor = 2048) {
    DeviceProperties& device = trace.devices.emplace_back();
    device.id = id;
    device.name = name;
    device.multiprocessors = multiprocessors;
    device.max_threads_per_multiprocessor = max_threads_per_multiprocessor;
    return device;
  }

 private:
  OpDetail& with_op_detail(Category category, const std::string& name, std::int64_t start_ns,
                           std::int64_t duration_ns, std::int64_t external_id, const std::string& tid) {
    const std::uint32_t row =
        event(category, name, start_ns, duration_ns, thread(kHostPid, tid, "CPU"), kNoCorrelation);
    trace.events.detail[row] = static_cast<std::uint32_t>(trace.ops.size());
    OpDetail& detail = trace.ops.emplace_back();
    detail.event = row;
    detail.external_id = external_id;
    return detail;
  }
};

}  // namespace by_hand
}  // namespace headroom::trace
