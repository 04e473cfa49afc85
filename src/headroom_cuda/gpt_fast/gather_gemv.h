// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// The experiment gather_gemv: backends "cuda", which reads on the device which matrices are chosen, "cublas"
/// and "cublaslt", which the host tells.
void gather_gemv(State& state);

}  // namespace headroom::cuda
