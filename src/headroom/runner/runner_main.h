// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headroom {

/// What a runner does that was started from a shell, with its own path and arguments; returns the exit code.
using FromShell =
    std::function<int(const std::filesystem::path& self, const std::vector<std::string>& arguments)>;

/// main() of a runner. Asked by a command line (the socket is there), it serves registry(); else it does what
/// `from_shell` does. An exception of either is said on standard error, and the exit code then is 2.
int runner_main(int argc, char** argv, const FromShell& from_shell);

/// The path of the program `headroom`: what the environment variable HEADROOM names, else beside the program
/// `self`, in PATH, or where this library is installed. Throws Error, saying what to do, where it is in none
/// of them, and where HEADROOM names no other program than `self`.
std::filesystem::path find_engine(const std::filesystem::path& self);

/// A FromShell: becomes `headroom run --runner SELF ARGUMENT...`. Returns only by throwing Error.
int hand_over_to_engine(const std::filesystem::path& self, const std::vector<std::string>& arguments);

}  // namespace headroom
