// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/limit_peak.h"

#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/limits/peak_kernels.h"

namespace headroom::native {

void limit_peak(State& state) {
  const std::string& dtype = state.text("dtype");
  const PeakKernel kernel = peak_kernel(dtype, state.text("pattern"), chosen_isa());
  if (kernel.run == nullptr) state.skip(kernel.why_not);
  // A tenth of a millisecond at least: a fork and a join take well under a thousandth of it.
  constexpr double kFlopsPerThread = 8e7;
  const auto rounds = static_cast<std::uint64_t>(kFlopsPerThread / kernel.flops_per_round) + 1024;
  const auto pool = shared_pool(state);
  state.work(
      {.flops = static_cast<double>(rounds) * kernel.flops_per_round * pool->workers(), .dtype = dtype});
  state.note("instruction", kernel.instruction);
  state.measure([&] { pool->run([&](int, int) { kernel.run(rounds); }); });
}

}  // namespace headroom::native
