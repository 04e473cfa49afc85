// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/run_journal.h"
#include "headroom/schedule/plan.h"

namespace headroom::cli {

/// The newest `headroom run` that was killed; the folder where it was started is entered. Says what it had.
/// Throws Error where there is none, or it cannot be gone on with: a machine that is another one, functions
/// of a process that is gone, a secret that was on its command line.
UnfinishedRun run_to_resume();

/// What it was called with.
Arguments arguments_of(const UnfinishedRun& run);

/// Says in the environment what its records owe to `before`.
void note_resumed(const UnfinishedRun& before, Environment& environment);

/// The records of the groups that `before` had finished, which are removed from `groups`; they are in
/// `journal` then, and no longer in that of `before`.
std::vector<Record> take_finished(const UnfinishedRun& before, std::vector<Group>& groups,
                                  const std::shared_ptr<const Environment>& environment, RunJournal& journal);

}  // namespace headroom::cli
