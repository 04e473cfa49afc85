// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/limit_read.h"

#include "headroom/workload/slice.h"
#include "headroom_native/kernels/cache_line.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/limits/limit_plan.h"
#include "headroom_native/limits/read_kernels.h"

namespace headroom::native {

void limit_read(State& state) {
  const LimitPlan plan = plan_limit(state, kLineBytes);
  const Isa isa = chosen_isa();
  const ReadKernel kernel = read_kernel(state.text("pattern"), isa);
  const auto pool = shared_pool(state);
  state.work({.bytes = plan.bytes_per_iteration()});
  state.note("isa", name_of(isa));
  state.measure([&](std::size_t index) {
    pool->run([&](int worker, int workers) {
      const Slice lines = slice_of(plan.bytes / kLineBytes, worker, workers);
      const std::byte* from = plan.start(index) + lines.begin * kLineBytes;
      for (std::size_t pass = 0; pass < plan.passes; ++pass, from += plan.stride) {
        kernel(from, lines.size() * kLineBytes);
      }
    });
  });
}

}  // namespace headroom::native
