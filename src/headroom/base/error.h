// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace headroom {

/// A failure that the user must fix. The message says what failed, on what, and what to do next. Outcomes of
/// a measurement (a skipped case, a wrong result) are data, not errors.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs `body` and prefixes an Error that it throws with "context: ".
template <typename Body>
decltype(auto) with_context(const std::string& context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    throw Error(context + ": " + error.what());
  }
}

/// Thrown when the user interrupts a running benchmark.
struct Interrupted {};

/// Exit code of every program of this project.
enum class ExitCode : int {
  kFine = 0,
  kNo = 1,            ///< the answer is no: regression, missed target, failed experiment
  kCannot = 2,        ///< bad input, bad usage or missing runner
  kInconclusive = 3,  ///< the data does not decide the gate
  kInterrupted = 130  ///< Ctrl-C; results measured so far are kept
};

}  // namespace headroom
