// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/library.h>

namespace headroom::torch_runner::dtensor {

/// Registers gradients of operators that select values: max over a dim and its like, gather. ATen composes
/// them of others and writes into a plain tensor on the way, which cannot become a distributed one; here
/// nothing is written. Plain tensors take ATen's way.
void register_selecting_gradients(torch::Library& aten);

}  // namespace headroom::torch_runner::dtensor
