// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/base/error.h"

namespace headroom::cli {

using Arguments = std::vector<std::string>;

/// A word that may follow a command's name: an analysis, an action.
struct CommandWord {
  std::string name;
  std::string summary;
};

/// One command: `run` gets what follows its name. A command of another program names that program instead.
struct Command {
  const char* name;
  const char* summary;
  ExitCode (*run)(const Arguments& arguments);
  std::vector<CommandWord> (*words)() = nullptr;
  const char* program = nullptr;
};

}  // namespace headroom::cli
