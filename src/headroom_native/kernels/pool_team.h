// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/workload/team.h"
#include "headroom_native/kernels/thread_pool.h"

namespace headroom::native {

/// The pool's workers as a team, so that inputs are first touched by the CPU that will read them. `pool` must
/// outlive it.
inline Team team_of(ThreadPool& pool) {
  return [&pool](const std::function<void(int, int)>& body) { pool.run(body); };
}

}  // namespace headroom::native
