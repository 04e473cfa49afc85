// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace headroom {

/// A failure that the user must fix: what failed, on what, what to do. Skipped cases and wrong results are
/// data, not errors.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Prefixes an Error of `body` with "context: ".
template <typename Body>
decltype(auto) with_context(const std::string& context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    throw Error(context + ": " + error.what());
  }
}

/// Thrown when the user interrupts a benchmark.
struct Interrupted {};

/// Of all programs of this project.
enum class ExitCode : int {
  kSuccess = 0,
  kFailure = 1,       ///< regression, missed target, failed experiment
  kError = 2,         ///< bad input or usage, missing runner
  kInconclusive = 3,  ///< the data does not decide
  kInterrupted = 130  ///< Ctrl-C; results are kept
};

}  // namespace headroom
