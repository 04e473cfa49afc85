// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom history export|import|prune`: `arguments` is what follows the word.
ExitCode history_export(const Arguments& arguments);
ExitCode history_import(const Arguments& arguments);
ExitCode history_prune(const Arguments& arguments);

}  // namespace headroom::cli
