// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/error.h"

namespace headroom::test {

/// What the Error says that `body` throws; "nothing was thrown" where it throws none.
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
