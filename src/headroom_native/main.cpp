// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/experiments.h"

namespace {

/// Runs before main().
[[maybe_unused]] const bool registered =
    (headroom::native::register_native_experiments(headroom::registry()), true);

}  // namespace
