// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/limit_write.h"

#include "headroom/workload/slice.h"
#include "headroom_native/kernels/cache_line.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/limits/limit_plan.h"
#include "headroom_native/limits/write_kernels.h"

namespace headroom::native {

namespace {

void measure_writes(State& state, WriteKernel kernel) {
  const LimitPlan plan = plan_limit(state, kLineBytes);
  const auto pool = shared_pool(state);
  state.work({.bytes = plan.bytes_per_iteration(), .bytes_written = plan.bytes_per_iteration()});
  state.measure([&](std::size_t index) {
    pool->run([&](int worker, int workers) {
      const Slice lines = slice_of(plan.bytes / kLineBytes, worker, workers);
      std::byte* to = plan.start(index) + lines.begin * kLineBytes;
      for (std::size_t pass = 0; pass < plan.passes; ++pass, to += plan.stride) {
        kernel(to, lines.size() * kLineBytes);
      }
      store_fence();
    });
  });
}

}  // namespace

void limit_write(State& state) {
  const std::string pattern = state.text("pattern");
  if (pattern != "plain" && !kHasNontemporalStores) state.skip("this CPU has no non-temporal stores");
  const Isa isa = chosen_isa();
  state.note("isa", name_of(isa));
  measure_writes(state, write_kernel(pattern, isa));
}

void limit_zero_fill(State& state) {
  const WriteKernel kernel = zero_kernel();
  if (kernel == nullptr) state.skip("this CPU has no instruction that clears a line of 64 bytes");
  measure_writes(state, kernel);
}

}  // namespace headroom::native
