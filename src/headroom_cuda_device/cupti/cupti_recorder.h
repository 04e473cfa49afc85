// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "headroom/trace/recording/device_activity.h"
#include "headroom/trace/recording/recorder.h"
#include "headroom/trace/recording/recording_clock.h"
#include "headroom_cuda_device/cupti/activity_buffers.h"

namespace headroom::cuda {

/// Records what the GPUs of this process do, and the calls of CUDA's runtime and driver that made them do it,
/// as a trace in Kineto's form (trace/recording/device_activity.h). What lies between start() and stop() is
/// its step 0. start() and stop() are called on the same thread.
///
/// CUPTI is loaded by the first start(), never before. After stop() it is idle, not gone: nothing is
/// recorded, but its hooks stay in the process, and a call may take some nanoseconds more than before. What
/// is to be timed afterwards is timed in a process that recorded nothing: `headroom run` does so.
class CuptiRecorder final : public trace::Recorder {
 public:
  /// The trace goes to `file`, packed where its name ends in .gz or .zst.
  explicit CuptiRecorder(std::filesystem::path file) : file_(std::move(file)) {}
  /// Ends a recording that was not stopped; there is no file of it.
  ~CuptiRecorder() override;

  /// Throws Error where CUPTI is not found, refuses, or records already.
  void start() override;
  /// Waits for the current device, writes the file, whole or not at all, and answers with its path. Throws
  /// Error.
  trace::Recording stop() override;

 private:
  void enable_all();
  void disable_all(std::size_t count) const;
  void take_into_host_time();

  std::filesystem::path file_;
  std::unique_ptr<ActivityBuffers> buffers_;  ///< while it records
  trace::DeviceActivity activity_;
  trace::ClockPair started_;
};

}  // namespace headroom::cuda
