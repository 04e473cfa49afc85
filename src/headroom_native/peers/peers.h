// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom_native/kernels/thread_pool.h"

/// "onednn" (weights as stored), "onednn_packed" (weights in its own layout, converted ahead) and "openblas"
/// (weights converted ahead to f32, twice the bytes). Each of our pinned threads calls the library for its
/// rows, with one library thread: the fastest setup measured, as no library threads compete and CPUs read
/// pages that they touched first. A library not found at build time has no backend.
namespace headroom::native {

/// Backends of this build.
std::vector<std::string> gemv_peers();
std::vector<std::string> layer_norm_peers();
std::vector<std::string> mlp_peers();

/// Returns false if `state.backend()` is not one of these libraries.
bool measured_by_peer(State& state, const GemvWorkload& inputs, ThreadPool& pool);
bool measured_by_peer(State& state, const GatherGemvWorkload& inputs, ThreadPool& pool);
bool measured_by_peer(State& state, LayerNormWorkload& inputs, ThreadPool& pool);
bool measured_by_peer(State& state, const MlpWorkload& inputs, ThreadPool& pool);

/// bf16, times the same x; results are consecutive in y.
struct MatrixCase {
  std::size_t rows = 0, columns = 0;
  std::vector<std::vector<const Bf16*>> matrices;  ///< by input copy: matrices of an iteration
  const Bf16* x = nullptr;
  std::vector<double> expected;
  Tolerance tolerance;

  std::size_t outputs() const { return matrices.front().size() * rows; }
};

/// Defined only in builds with the library.
void measure_onednn(State& state, ThreadPool& pool, const MatrixCase& matrices, bool packed);
void measure_openblas(State& state, ThreadPool& pool, const MatrixCase& matrices);

/// Defined only in builds with oneDNN.
void measure_onednn_layer_norm(State& state, ThreadPool& pool, LayerNormWorkload& inputs);
void measure_onednn_mlp(State& state, ThreadPool& pool, const MlpWorkload& inputs, bool packed);

}  // namespace headroom::native
