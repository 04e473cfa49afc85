// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace headroom {

/// A failure that the user must fix. The message says what failed, on what, and what to do next.
/// An outcome of measuring (a case skipped, a kernel that answers wrong) is data, never an Error.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs `body`; an Error that leaves it gets "context: " put in front.
template <typename Body>
decltype(auto) with_context(const std::string& context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    throw Error(context + ": " + error.what());
  }
}

/// Thrown when the user interrupted while a runner was at work.
struct Interrupted {};

}  // namespace headroom
