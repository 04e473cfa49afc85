// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom/workload/layer_norm_workload.h"
#include "headroom/workload/mlp_workload.h"
#include "headroom_native/kernels/thread_pool.h"

namespace headroom::native {

/// The experiments with a LayerNorm by oneDNN; only where it was found.
void measure_onednn_layer_norm(State& state, ThreadPool& pool, LayerNormWorkload& inputs);
void measure_onednn_mlp(State& state, ThreadPool& pool, const MlpWorkload& inputs, bool packed);

}  // namespace headroom::native
