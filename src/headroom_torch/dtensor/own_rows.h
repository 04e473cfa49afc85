// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/stack.h>

#include <cstdint>

namespace c10 {
class OperatorHandle;
}

namespace headroom::torch_runner::dtensor {

/// The rows of a table that this rank holds, of `whole` rows.
struct OwnRows {
  std::int64_t first = 0, count = 0, whole = 0;
  bool of_result = false;  // the operator makes the table, which is its gradient; else it looks up in it
};

/// Calls aten::embedding, or aten::embedding_dense_backward, whose arguments are on the stack, on this rank's
/// rows of the table alone: the look-up has zeros in place of other ranks' rows, so that the sum over the
/// ranks is what was asked for; the gradient has this rank's rows. Throws Error for an index of no row at
/// all, which every rank would else take for another's.
void call_on_own_rows(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack);

}  // namespace headroom::torch_runner::dtensor
