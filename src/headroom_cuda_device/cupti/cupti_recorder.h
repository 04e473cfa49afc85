// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "headroom_trace/recording/recorder.h"

namespace headroom::cuda {

/// The kinds of records that CUPTI is asked for and add_record() understands.
inline constexpr CUpti_ActivityKind kRecordedKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};

/// Returns the name of a CUDA runtime or driver function by its number; empty if unknown.
using CallName = std::function<std::string(CUpti_CallbackDomain domain, std::uint32_t function)>;

/// Appends a CUPTI record to `activity`, with times on CUPTI's clock. A record for which CUPTI took no times
/// counts as dropped. Ignores records of other kinds.
void add_record(const CUpti_Activity& record, const CallName& name_of, trace::DeviceActivity& activity);

/// "cudaLaunchKernel" for "cudaLaunchKernel_ptsz_v7000": drops the version suffix and the per-thread-stream
/// suffix of runtime functions. Driver names such as "cuMemAlloc_v2" stay.
std::string call_name(const std::string& name);

/// Demangles: "scale(float*)" for "_Z5scalePf". Other names stay.
std::string kernel_name(const char* name);

/// Number of blocks of the kernel that fit on a multiprocessor at the same time by registers, shared memory
/// and threads, by NVIDIA's cuda_occupancy.h. 0 if the description is incomplete or this toolkit does not
/// know the device.
std::int32_t resident_blocks(const trace::DeviceDescription& device, const trace::KernelShape& kernel);

/// Receives CUPTI's records on CUPTI's threads; calls do not overlap.
using TakeRecord = std::function<void(const CUpti_Activity& record)>;

/// Provides CUPTI with buffers and passes their records to `take` during its lifetime. CUPTI has one set of
/// callbacks in a process, so a second object throws Error.
class ActivityBuffers {
 public:
  explicit ActivityBuffers(TakeRecord take);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  /// Number of dropped records and unreadable buffers since the last call.
  static std::size_t take_dropped();
};

/// Records the GPU work of this process and the CUDA runtime and driver calls that launched it, as a trace in
/// Kineto's format (headroom_trace/recording/recorder.h). The time from start() to stop() is step 0. Call
/// both on the same thread.
///
/// The first start() loads CUPTI. After stop() it records nothing, but its hooks stay in the process and may
/// add some nanoseconds to a call. Time in another process afterwards, as `headroom run` does.
class CuptiRecorder final : public trace::Recorder {
 public:
  /// Writes the trace to `file`, compressed if its name ends in .gz or .zst.
  explicit CuptiRecorder(std::filesystem::path file) : file_(std::move(file)) {}
  /// Discards a recording that was not stopped.
  ~CuptiRecorder() override;

  /// Throws Error if CUPTI is not found, fails, or is recording already.
  void start() override;
  /// Waits for the current device, writes the file atomically and returns its path. Throws Error.
  trace::Recording stop() override;

 private:
  void enable_all();
  void disable_all(std::size_t count) const;
  void take_into_host_time();

  std::filesystem::path file_;
  std::unique_ptr<ActivityBuffers> buffers_;  ///< set while recording
  trace::DeviceActivity activity_;
  trace::ClockPair started_;
};

}  // namespace headroom::cuda
