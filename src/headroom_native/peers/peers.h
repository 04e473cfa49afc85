// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/gather_gemv_workload.h"
#include "headroom/workload/gemv_workload.h"
#include "headroom/workload/layer_norm_workload.h"
#include "headroom/workload/mlp_workload.h"
#include "headroom_native/kernels/thread_pool.h"

/// Libraries that do the same, on the same memory, as backends beside "native": "onednn" (weights as they
/// lie), "onednn_packed" (weights in the library's own layout, made before) and "openblas" (weights of f32,
/// made before: twice the bytes). Rows are split over the same pinned threads as ours, and each thread calls
/// the library for its rows with one thread in it: the best that was found here, for neither starts threads
/// of its own, and both read the pages that their CPU touched first. Where a library was not found when this
/// was built, its backends are not there.
namespace headroom::native {

/// The backends of gemv and gather_gemv, of layer_norm, and of the chain, that this build has.
std::vector<std::string> gemv_peers();
std::vector<std::string> layer_norm_peers();
std::vector<std::string> mlp_peers();

/// Verifies and measures `state.backend()` where it is one of them; false where it is not.
bool measured_by_peer(State& state, const GemvWorkload& inputs, ThreadPool& pool);
bool measured_by_peer(State& state, const GatherGemvWorkload& inputs, ThreadPool& pool);
bool measured_by_peer(State& state, LayerNormWorkload& inputs, ThreadPool& pool);
bool measured_by_peer(State& state, const MlpWorkload& inputs, ThreadPool& pool);

}  // namespace headroom::native
