// SPDX-License-Identifier: Apache-2.0
// The only header here that includes c10d's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <string_view>

#include "headroom_torch/dtensor/world.h"
#include "headroom_torch/nccl/nccl_device.h"
#include "headroom_torch/tensors/libtorch.h"

#if HEADROOM_TORCH_AT_LEAST(2, 0)
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace headroom::torch_runner::dtensor {

struct Connection {
  c10::intrusive_ptr<CollectiveBackend> backend;
};

/// Records a collective in the group's ring, if any; as failed without completed().
class ScopedRingEntry {
 public:
  ScopedRingEntry(const Group& group, std::string_view op, std::string_view dtype, std::int64_t elements_in,
                  std::int64_t elements_out);
  ~ScopedRingEntry();
  ScopedRingEntry(const ScopedRingEntry&) = delete;
  ScopedRingEntry& operator=(const ScopedRingEntry&) = delete;

  void started();
  void completed();

 private:
  CollectiveRing* ring_;  ///< of the group, which outlives the call
  std::uint64_t call_ = 0;
  bool completed_ = false;
};

[[noreturn]] void refuse_call(const Group& group, std::string_view what, const std::exception& error);

/// Runs a collective of at least two ranks and records it. `start(backend)` returns its work.
/// `awaits_device`: until the device is done, too. Throws Error if a rank is lost or late.
template <typename Start>
void run_collective(const Group& group, const char* op, const at::Tensor& in, const at::Tensor& out,
                    Start&& start, bool awaits_device = false) {
  ScopedRingEntry note(group, op, in.defined() ? at::toString(in.scalar_type()) : "",
                       in.defined() ? in.numel() : 0, out.defined() ? out.numel() : 0);
  try {
    const auto work = start(*group.connection->backend);
    note.started();
    work->wait();
    if (awaits_device && !group.device.is_cpu()) await_device(group.device);
    note.completed();
  } catch (const std::exception& error) {
    refuse_call(group, op, error);
  }
}

/// No-op for a group of one. Throws Error.
void barrier(const Group& group);

}  // namespace headroom::torch_runner::dtensor
