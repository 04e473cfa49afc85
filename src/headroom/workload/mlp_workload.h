// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/team.h"

namespace headroom {

/// Linear, LayerNorm, Linear, LayerNorm of one vector: x[D] -> hidden -> y[D], everything of bf16. (The seed
/// calls it mlp_layer_norm_gelu; there is no GELU in it.) FLOPs: 4 D hidden; bytes: those of the weights.
struct MlpWorkload {
  /// One linear layer and the LayerNorm behind it.
  struct Layer {
    InputCopies weights;  ///< [outputs, inputs]
    std::vector<Bf16> bias, gamma, beta;

    Layer(std::size_t outputs, std::size_t inputs, std::size_t copies);
    void fill(std::uint64_t seed);
    std::size_t outputs() const { return bias.size(); }
  };

  Layer up;    ///< D to hidden
  Layer down;  ///< hidden to D
  std::vector<Bf16> x;
  std::vector<double> expected;  ///< y; float64 but for the hidden activations, which are rounded to bf16

  /// Rounding the result to bf16 (8 significant bits) costs up to 2^-8 of it. A hidden activation that lies
  /// between two bf16 may round the other way than in float64; that, and sums in f32, cost about 1e-4 of the
  /// root mean square.
  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

  std::size_t weight_bytes() const { return up.weights.bytes() + down.weights.bytes(); }
};

/// From the axes D and hidden; see gemv_workload.
std::shared_ptr<const MlpWorkload> mlp_workload(State& state, const Team& team);

}  // namespace headroom
