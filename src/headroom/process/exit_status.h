// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <string>

namespace headroom {

/// How a child ended.
struct ExitStatus {
  bool signalled = false;
  int code = 0;    ///< exit code, or the signal's number; -1 where the kernel did not tell
  rusage usage{};  ///< of the child and of the descendants that it waited for

  bool ok() const { return !signalled && code == 0; }
  /// "exit code 3", "killed by signal 11 (Segmentation fault)".
  std::string text() const;
};

}  // namespace headroom
