// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// Arithmetic peak of `dtype` with the instruction that `pattern` names. The limit is the best of the
/// patterns.
void limit_peak(State& state);

}  // namespace headroom::native
