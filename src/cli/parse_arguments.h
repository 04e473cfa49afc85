// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/command.h"

namespace CLI {
class App;
}

namespace headroom::cli {

/// Lets `app` parse what follows the command's name. Where the command is then done, because help was asked
/// for or the arguments are wrong, that has been told, and the result is the exit code.
std::optional<ExitCode> parse_arguments(CLI::App& app, const Arguments& arguments);

}  // namespace headroom::cli
