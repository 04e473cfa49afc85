// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom::torch_runner::dtensor {

/// Makes ATen bring calls with distributed tensors here: a boxed fallback for their dispatch key, registered
/// with c10's dispatcher, which is one for the process. The first call does it. Throws Error when the key is
/// taken.
void register_dispatch();

}  // namespace headroom::torch_runner::dtensor
