// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// The experiment gemv: backends "cuda", "cublas" and "cublaslt".
void gemv(State& state);

}  // namespace headroom::cuda
