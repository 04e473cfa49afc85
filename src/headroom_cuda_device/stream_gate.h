// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace headroom::cuda {

/// Holds a stream until the host has put work behind it, so that an event before that work and one after it
/// do not measure how fast the host launches. nvbench calls it a blocking kernel.
class StreamGate {
 public:
  /// Throws Error.
  StreamGate();
  ~StreamGate();
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;

  /// What comes into the stream from here on waits for open(), or for a tenth of a second. Nothing where
  /// launches were found to wait for the kernel before (CUDA_LAUNCH_BLOCKING, compute-sanitizer).
  void close(cudaStream_t stream);
  void open();
  /// After what was behind the gate has ended: whether the gate opened by itself. It is then no more closed.
  bool timed_out();

 private:
  struct Flags {
    unsigned is_open;
    unsigned gave_up;
  };

  Flags* flags_ = nullptr;         ///< host memory that the device sees
  Flags* device_flags_ = nullptr;  ///< the same, as the device sees it
  bool is_useless_ = false;
};

}  // namespace headroom::cuda
