// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/environment.h"

namespace headroom {

/// What tells the machines of another tool's file from others, for Environment::fingerprint: a readable part,
/// the host's name or else that of its processor or GPU, and a hash of all that the file says of them
/// ("build-7-1c9f03aa"). Only letters, digits, '-' and '_'. Never that of machine_fingerprint(), which knows
/// more. Empty where the file names neither host nor processor nor GPU: results of unknown machines stay
/// among themselves.
std::string imported_fingerprint(const std::vector<Environment::Runner>& machines);

}  // namespace headroom
