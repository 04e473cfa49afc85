// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headroom_trace/recording/recorder.h"

namespace headroom::cuda {

/// Never linked: a process that records nothing does not load it.
struct CuptiLibrary {
  std::string path;  ///< or the name under which the loader found it
  std::uint32_t version = 0;

  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;

  /// Throws Error if a CUPTI call failed: check(enable(kind), "cuptiActivityEnable").
  void check(CUptiResult status, const char* call) const;
};

/// Search order: HEADROOM_CUPTI (then nowhere else), the loader, CUDA_HOME and CUDA_PATH, installed toolkits;
/// this build's CUDA version first.
std::vector<std::string> cupti_candidates();

/// The first usable candidate. Throws Error with the reasons if all fail.
CuptiLibrary load_cupti(const std::vector<std::string>& candidates);

/// Loaded by the first call. Throws Error; the next call tries again.
const CuptiLibrary& cupti();

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

/// Blocks that a multiprocessor holds, by NVIDIA's cuda_occupancy.h. 0 if the description is incomplete or
/// the toolkit does not know the device.
std::int32_t resident_blocks(const trace::DeviceDescription& device, const trace::KernelShape& kernel);

/// Called on CUPTI's threads, one call at a time.
using TakeRecord = std::function<void(const CUpti_Activity& record)>;

/// Gives CUPTI buffers and passes their records to `take`. A second object throws Error: CUPTI has one set of
/// callbacks per process.
class ActivityBuffers {
 public:
  explicit ActivityBuffers(TakeRecord take);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  /// Dropped records and unreadable buffers since the last call.
  static std::size_t take_dropped();
};

/// Records this process's GPU work and the CUDA runtime and driver calls that launched it, as a Kineto trace
/// (headroom_trace/recording/recorder.h). The time from start() to stop() is step 0. Call both on the same
/// thread. The first start() loads CUPTI, whose hooks stay after stop() and may add some nanoseconds to a
/// call: time in another process afterwards, as `headroom run` does.
class CuptiRecorder final : public trace::Recorder {
 public:
  /// Compresses if the name ends in .gz or .zst.
  explicit CuptiRecorder(std::filesystem::path file) : file_(std::move(file)) {}
  /// Discards a recording that was not stopped.
  ~CuptiRecorder() override;

  /// Throws Error if CUPTI is not found, fails, or is recording already.
  void start() override;
  /// Waits for the current device, writes the file atomically, returns its path. Throws Error.
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
