// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace headroom::cli {

/// Path of one of headroom's own runners ("headroom-native"): beside this executable, in the folder that this
/// was installed to, or in PATH. Empty when there is none.
std::string find_runner(const std::string& name);

/// headroom-native, which holds the machine's limits and the CPU experiments. Empty when there is none.
std::string find_native_runner();

/// Paths of the runners that hold the limits of the devices that `runners` (paths) measure on:
/// headroom-native, and for ours on CUDA headroom-cuda. Those that are not there are left out.
std::vector<std::string> limit_runners_of(const std::vector<std::string>& runners);

/// One sentence for each of the runners that limit_runners_of would have taken and did not find: where it was
/// looked for, and what to do.
std::vector<std::string> missing_limits_of(const std::vector<std::string>& runners);

/// headroom-torch, which reads modules from files. Throws Error when it is not there, saying what it needs.
std::string runner_of_modules();

struct FoundRunner {
  std::string path;
  bool is_asked_for =
      true;  ///< by a backend that it has; else it is left out where it cannot run on this machine

  bool operator==(const FoundRunner&) const = default;
};

/// Those of them that hold one of these backends for sure. Throws as runners_of_backends.
std::vector<FoundRunner> known_runners_of_backends(const std::vector<std::string>& backends);

/// The runners of a run that names none: those that hold the backends asked for, the first backend's first;
/// headroom-native when none is asked for. "all", and a name that no runner of ours has, take every runner
/// that is there. Throws Error when a backend's runner is not there, saying what it needs.
std::vector<FoundRunner> runners_of_backends(const std::vector<std::string>& backends);

}  // namespace headroom::cli
