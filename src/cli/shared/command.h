// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/base/exit_code.h"

namespace headroom::cli {

using Arguments = std::vector<std::string>;

/// A word that may stand first behind a command's name: an analysis, an action.
struct CommandWord {
  std::string name;
  std::string summary;
};

/// One subcommand: `run` gets what follows its name.
struct Command {
  const char* name;
  const char* summary;
  ExitCode (*run)(const Arguments& arguments);
  std::vector<CommandWord> (*words)() = nullptr;
};

/// All of them, in the order in which help shows them.
std::span<const Command> commands();

}  // namespace headroom::cli
