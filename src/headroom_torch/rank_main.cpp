// SPDX-License-Identifier: Apache-2.0
// The process of one rank: told its place by its environment, what to do over the channel that it inherits.
#include <malloc.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "headroom/base/error.h"
#include "headroom/base/exit_code.h"
#include "headroom/base/json.h"
#include "headroom/runner/serve.h"
#include "headroom_torch/rank_service.h"

namespace {

/// Memory that is freed is kept for what comes next, as allocators of training programs do. glibc would give
/// blocks of more than 128 KiB back at once, and every iteration that drops its gradients would fault their
/// pages in anew: not what the iteration computes, and twice as much without buckets as with them. Heaps of
/// arenas that threads have of their own it would give back whole, and every case has a thread: there is one.
void keep_freed_memory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

}  // namespace

int main(int, char** argv) {
  keep_freed_memory();
  // A rank in a collective that never ends must not outlive the command line that asked for it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    auto channel = headroom::inherited_channel();
    const auto place = headroom::rank_place();
    if (!channel || !place) {
      throw headroom::Error(
          "this is the process of a rank, which `headroom dispatch` and `headroom ddp` start; see headroom "
          "ddp --help");
    }
    headroom::torch_runner::serve_rank(std::move(*channel), *place);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return static_cast<int>(headroom::ExitCode::kCannot);
  }
}
