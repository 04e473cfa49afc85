// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/schedule/session.h"

namespace headroom::cli {

class OptionTable;

/// --module and --input as they were given: programs from files, and what they are called with.
struct ModuleOptions {
  std::vector<std::string> modules;
  std::vector<std::string> inputs;
};

void declare_module_options(OptionTable& table, ModuleOptions& options);

/// The arguments for a runner that reads modules: each path in full, each input checked. Throws Error: a file
/// that is missing or no file, an input that does not parse, inputs without a module.
std::vector<std::string> runner_arguments(const ModuleOptions& options);

/// Makes `selection` that of the modules: one experiment, "module", whose backends they are. Throws Error
/// where an experiment was named too.
void select_modules(Selection& selection);

}  // namespace headroom::cli
