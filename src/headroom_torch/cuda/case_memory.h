// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>
#include <functional>

namespace headroom::torch_runner {

/// What one case takes of a GPU's memory through libtorch's allocator.
///
/// A graph of captured launches writes where the tensors were that its launches made, long after these are
/// gone. What is allocated during a capture therefore comes from a pool that nobody else gets memory of while
/// this lives, as at::cuda::CUDAGraph has one. The graphs of a case share it: each iteration writes what it
/// reads, and the stream runs them one after the other.
class CaseMemory {
 public:
  /// Of what is allocated for `stream`.
  explicit CaseMemory(c10::cuda::CUDAStream stream);
  /// After the graphs and tensors of the case. Gives back to the driver what no other case holds: runners of
  /// the same run need memory too.
  ~CaseMemory();
  CaseMemory(const CaseMemory&) = delete;
  CaseMemory& operator=(const CaseMemory&) = delete;

  /// Calls `capture`, which captures launches into a graph.
  void around_capture(const std::function<void()>& capture);

 private:
  c10::cuda::CUDAStream stream_;
  c10::MempoolId_t pool_;
  std::size_t captures_ = 0;
};

}  // namespace headroom::torch_runner
