// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/base/error.h"

namespace headroom::cli {

using Arguments = std::vector<std::string>;

struct CommandWord {
  std::string name;
  std::string summary;
};

/// `program`: the other program that has the command.
struct Command {
  const char* name;
  const char* summary;
  ExitCode (*run)(const Arguments& arguments);
  std::vector<CommandWord> (*words)() = nullptr;
  const char* program = nullptr;
};

}  // namespace headroom::cli
