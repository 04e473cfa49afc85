// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/registry.h"

namespace headroom::torch_runner {

/// Registry::TakeArguments: "--module FILE" and "--input SPEC" (tensor_spec.h), each any number of times.
/// Adds the experiment "module", whose backends are the modules, by the names of their files; all are called
/// with the same inputs. Throws Error.
void offer_modules(Registry& registry, const std::vector<std::string>& arguments);

}  // namespace headroom::torch_runner
