// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headroom {

/// Of a runner started from a shell.
using FromShell =
    std::function<int(const std::filesystem::path& self, const std::vector<std::string>& arguments)>;

/// main() of a runner: serves registry() if headroom started it (the socket exists), else calls `from_shell`.
/// Prints exceptions and returns 2.
int runner_main(int argc, char** argv, const FromShell& from_shell);

/// Finds `headroom`: $HEADROOM, else in the folder of `self`, PATH, or the installation. Throws Error with
/// advice if missing or if $HEADROOM is `self`.
std::filesystem::path find_engine(const std::filesystem::path& self);

/// Executes `headroom run --runner SELF ARGUMENT...`; returns only by throwing Error.
int exec_engine(const std::filesystem::path& self, const std::vector<std::string>& arguments);

}  // namespace headroom
