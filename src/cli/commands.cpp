// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ab.h"
#include "cli/commands/cache.h"
#include "cli/commands/completion.h"
#include "cli/commands/ddp.h"
#include "cli/commands/diff.h"
#include "cli/commands/dispatch.h"
#include "cli/commands/history.h"
#include "cli/commands/machine.h"
#include "cli/commands/report.h"
#include "cli/commands/roofline.h"
#include "cli/commands/run.h"
#include "cli/commands/serve.h"
#include "cli/commands/show.h"
#include "cli/commands/time.h"
#include "cli/commands/trace.h"
#include "cli/shared/command.h"

namespace headroom::cli {
namespace {

constexpr Command kCommands[] = {
    {"run", "measure experiments against each other and against this machine's limits", run},
    {"time", "measure a command: time with its interval, memory, page faults, switches", time},
    {"ab", "compare commands, or builds of a runner, run in turn until the ratio is known", ab},
    {"show", "results of any tool, of a folder, of a run of the history, as a table or as records", show},
    {"diff", "compare measurements: what got slower, what got faster, what cannot be told", diff},
    {"trace", "what a device was doing: utilisation, kernels, idle time, collectives of profiler traces",
     trace, trace_words},
    {"cache", "commands with cold caches against the same with warm ones, whole suites or one of yours",
     cache},
    {"dispatch",
     "what a distributed tensor adds to operators: cached sharding, propagated sharding, per rank", dispatch},
    {"ddp", "data-parallel training over ranks: how it scales, and what its communication costs", ddp,
     ddp_words},
    {"history", "what was measured before: runs, series over time, and where they changed", history,
     history_words},
    {"report", "results as a page for a browser: one file, with charts and tables to search and sort",
     report},
    {"serve", "the history in a browser of this machine, as it is now, and what is being measured", serve},
    {"roofline", "plot the cases of a run under this machine's roofs, for a terminal or as SVG", roofline},
    {"machine", "show this machine: topology, caches, bandwidth by working set, peaks", machine},
    {"completion", "the script that completes commands, options and values in bash, zsh and fish", completion,
     completion_words},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace headroom::cli
