// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/commands/cache_options.h"
#include "headroom/command/suite.h"

namespace headroom::cli {

/// The suite of that name, or of that file. Throws Error.
Suite find_suite(const std::string& name);

/// The suite that a command after "--" makes. Throws Error.
Suite suite_of_command(const CacheOptions& options);

/// python, bin, here, and suite_dir where the user told it.
Placeholders suite_places(const Suite& suite, const std::string& pytorch);

/// Shows the shipped suites with what this machine lacks for each; as JSON too where asked.
ExitCode list_suites(const CacheOptions& options);

}  // namespace headroom::cli
