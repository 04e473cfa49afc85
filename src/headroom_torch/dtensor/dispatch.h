// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace headroom::torch_runner::dtensor {

/// A call with a distributed tensor among its arguments: runs on the parts, and wraps the results. A boxed
/// kernel.
void dispatch(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

/// Makes ATen bring calls with distributed tensors to dispatch(), for the first dispatch key of kKeys
/// (registration.cpp) that no other library of the process uses: c10's dispatcher is one for the process. The
/// first call does it. Throws Error when every key is taken.
void register_dispatch();

}  // namespace headroom::torch_runner::dtensor
