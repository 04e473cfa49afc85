// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// What every program of this project exits with.
enum class ExitCode : int {
  kFine = 0,
  kNo = 1,            ///< the answer is no: a regression, a missed target, a failed experiment
  kCannot = 2,        ///< it cannot be done: bad input, bad usage, a missing runner
  kInconclusive = 3,  ///< a gate was asked for and the data cannot decide
  kInterrupted = 130  ///< ended by Ctrl-C; what had been measured was kept
};

}  // namespace headroom
