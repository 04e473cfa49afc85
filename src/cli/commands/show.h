// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom show`: the records of files, folders and runs of the history, as they are.
ExitCode show(const Arguments& arguments);

}  // namespace headroom::cli
