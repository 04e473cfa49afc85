// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/error.h"

namespace headroom::test {

/// The Error's message, or "nothing was thrown".
template <typename Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace headroom::test
