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

inline constexpr CUpti_ActivityKind kRecordedKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};

/// Empty if the function is unknown.
using CallName = std::function<std::string(CUpti_CallbackDomain domain, std::uint32_t function)>;

/// Times are on CUPTI's clock. A record without times counts as dropped; other kinds are ignored.
void add_record(const CUpti_Activity& record, const CallName& name_of, trace::DeviceActivity& activity);

/// Turns "cudaLaunchKernel_ptsz_v7000" into "cudaLaunchKernel"; driver names such as "cuMemAlloc_v2" stay.
std::string call_name(const std::string& name);

/// Turns "_Z5scalePf" into "scale(float*)"; other names stay.
std::string kernel_name(const char* name);

/// Blocks that fit on a multiprocessor at once, by NVIDIA's cuda_occupancy.h. 0 if the description is
/// incomplete or the toolkit does not know the device.
std::int32_t resident_blocks(const trace::DeviceDescription& device, const trace::KernelShape& kernel);

/// Receives CUPTI's records on CUPTI's threads; calls do not overlap.
using TakeRecord = std::function<void(const CUpti_Activity& record)>;

/// Gives CUPTI buffers and passes their records to `take`. A second object throws Error, as CUPTI has one set
/// of callbacks per process.
class ActivityBuffers {
 public:
  explicit ActivityBuffers(TakeRecord take);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  /// Dropped records and unreadable buffers since the last call.
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
  /// Compresses if the name ends in .gz or .zst.
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
  void convert_to_host_time();

  std::filesystem::path file_;
  std::unique_ptr<ActivityBuffers> buffers_;  ///< set while recording
  trace::DeviceActivity activity_;
  trace::ClockPair started_;
};

}  // namespace headroom::cuda
