// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/limit_copy.h"

#include "headroom/workload/slice.h"
#include "headroom_native/kernels/cache_line.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/limits/copy_kernels.h"
#include "headroom_native/limits/limit_plan.h"

namespace headroom::native {

void limit_copy(State& state) {
  const std::string pattern = state.text("pattern");
  if (pattern != "plain" && !kHasNontemporalStores) state.skip("this CPU has no non-temporal stores");
  const LimitPlan plan = plan_limit(state, 2 * kLineBytes);
  const std::size_t half = plan.bytes / 2;
  const Isa isa = chosen_isa();
  const CopyKernel kernel = copy_kernel(pattern, isa);
  const auto pool = shared_pool(state);
  state.work({.bytes = plan.bytes_per_iteration(), .bytes_written = plan.bytes_per_iteration() / 2});
  state.note("isa", name_of(isa));
  state.measure([&](std::size_t index) {
    pool->run([&](int worker, int workers) {
      const Slice lines = slice_of(half / kLineBytes, worker, workers);
      std::byte* from = plan.start(index) + lines.begin * kLineBytes;
      for (std::size_t pass = 0; pass < plan.passes; ++pass, from += plan.stride) {
        kernel(from + half, from, lines.size() * kLineBytes);
      }
      store_fence();
    });
  });
}

}  // namespace headroom::native
