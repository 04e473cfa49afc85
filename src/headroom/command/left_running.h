// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace headroom {

/// Finds what commands leave running although their process group was ended: daemons, what setsid started.
/// It is found by a variable of the environment that the commands are given and their descendants inherit;
/// what clears its environment or runs as another user is not.
class LeftRunning {
 public:
  LeftRunning();

  /// The variable for the command of this number.
  std::pair<std::string, std::string> mark(std::size_t command) const;
  /// "left running: sleep (process 4711)"; empty where nothing is. Reads the environment of each process of
  /// this user: a few milliseconds.
  std::string note(std::size_t command) const;

 private:
  std::string session_;
};

}  // namespace headroom
