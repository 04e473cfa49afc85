// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/text.h"
#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Notes which form of a kernel runs. Skips the case where the wanted variant cannot do it, so that `plan` is
/// another.
template <typename Plan>
const Plan& noted(State& state, const Plan& plan) {
  if (!state.variant().empty() && state.variant() != plan.name()) {
    state.skip("the variant " + in_quotes(state.variant()) + " does not hold such rows; " +
               in_quotes(plan.name()) + " does");
  }
  state.note("variant", plan.name());
  return plan;
}

}  // namespace headroom::cuda
