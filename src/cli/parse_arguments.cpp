// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_arguments.h"

#include <CLI/CLI.hpp>

namespace headroom::cli {

std::optional<ExitCode> parse_arguments(CLI::App& app, const Arguments& arguments) {
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitCode::kFine : ExitCode::kCannot;
  }
  return std::nullopt;
}

}  // namespace headroom::cli
