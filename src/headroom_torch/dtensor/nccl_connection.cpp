// SPDX-License-Identifier: Apache-2.0
// The only file that includes CUDA's headers, and only where HEADROOM_TORCH_NCCL is on.
#include "headroom_torch/dtensor/nccl_connection.h"

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/connection.h"

#if HEADROOM_TORCH_HAS_NCCL
#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#else
#include <torch/csrc/distributed/c10d/Store.hpp>
#endif

namespace headroom::torch_runner::dtensor {
namespace {

#if HEADROOM_TORCH_HAS_NCCL

/// Ends without its peers: else it would wait for them to end too, and they may be gone. What it had to do is
/// done, or has failed.
class NcclGroup : public c10d::ProcessGroupNCCL {
 public:
  using ProcessGroupNCCL::ProcessGroupNCCL;
#if HEADROOM_TORCH_AT_LEAST(2, 7)
  ~NcclGroup() override {
    try {
      abort();
    } catch (const std::exception&) {
      // The process ends anyway.
    }
  }
#endif
};

#else

[[noreturn]] void refuse_nccl() {
  throw Error(
      "no nccl in this headroom-torch-rank, which was built for the CPU: leave --backend out, or build it "
      "with "
      "HEADROOM_TORCH_NCCL=ON against a libtorch with CUDA (docs/torch.md)");
}

#endif

}  // namespace

#if HEADROOM_TORCH_HAS_NCCL

c10::Device nccl_device(int local_rank) {
  const int count = c10::cuda::device_count();
  if (local_rank >= count) {
    throw Error(
        fmt::format("nccl needs a GPU for each rank, and the rank {} of this machine finds {}: start at most "
                    "as many ranks as there are GPUs, or leave --backend out",
                    local_rank, count));
  }
  const auto index = static_cast<c10::DeviceIndex>(local_rank);
  c10::cuda::set_device(index);
  return {c10::kCUDA, index};
}

c10::intrusive_ptr<CollectiveBackend> connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, int index,
                                                   int size, std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<NcclGroup>(store, index, size, std::move(options));
}

#else

c10::Device nccl_device(int) {
  refuse_nccl();
}

c10::intrusive_ptr<CollectiveBackend> connect_nccl(const c10::intrusive_ptr<c10d::Store>&, int, int,
                                                   std::chrono::milliseconds) {
  refuse_nccl();
}

#endif

}  // namespace headroom::torch_runner::dtensor
