// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/base/error.h"

namespace headroom::cli {

using Arguments = std::vector<std::string>;

struct CommandWord {
  std::string name;
  std::string summary;
};

class OptionTable;

/// `program`: the other program that has the command.
struct Command {
  const char* name;
  const char* summary;
  /// Removes arguments that are no options: an action, a command to measure. Throws Error for an unknown
  /// action.
  OptionTable (*options)(Arguments& arguments);
  std::vector<CommandWord> (*words)() = nullptr;
  const char* program = nullptr;
  const char* purpose = "";  ///< above this command and those that follow, in help

  ExitCode run(Arguments arguments) const;
};

std::string man_page(const Command& command);

std::string man_page(std::span<const Command> commands);

}  // namespace headroom::cli
