// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace headroom::cuda {

/// Holds a stream until the host has enqueued its work, so that events exclude launch latency (nvbench's
/// "blocking kernel").
class StreamGate {
 public:
  /// Throws Error.
  StreamGate();
  ~StreamGate();
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;

  /// Blocks later work until open(), at most 0.1 s. Does nothing after a time-out: launches are then
  /// synchronous (CUDA_LAUNCH_BLOCKING, compute-sanitizer).
  void close(cudaStream_t stream);
  void open();
  /// Whether it opened by time-out. Call after the work behind it has ended.
  bool timed_out();

 private:
  struct Flags {
    unsigned is_open;
    unsigned gave_up;
  };

  Flags* flags_ = nullptr;         ///< host memory mapped to the device
  Flags* device_flags_ = nullptr;  ///< its device address
  bool is_disabled_ = false;
};

}  // namespace headroom::cuda
