// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom history export|import|prune|repair|verify`: `arguments` is what follows the word.
ExitCode history_export(const Arguments& arguments);
ExitCode history_import(const Arguments& arguments);
ExitCode history_prune(const Arguments& arguments);
ExitCode history_repair(const Arguments& arguments);
ExitCode history_verify(const Arguments& arguments);

}  // namespace headroom::cli
