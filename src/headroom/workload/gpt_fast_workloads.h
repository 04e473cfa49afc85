// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/team.h"

namespace headroom {

/// y = W.to(bf16) @ x for `kChosenMatrices` of `kAllMatrices` matrices: W[kAllMatrices,D,D] of int8 (uniform
/// in [-127, 127]) or bf16, x[D] and y[kChosenMatrices,D] of bf16. FLOPs: 2 D^2 per chosen matrix; bytes: of
/// the chosen matrices. With cold caches, disjoint groups of one W take turns before the next copy.
template <std::size_t kAllMatrices, std::size_t kChosenMatrices>
struct MatrixVectorWorkload {
  static constexpr std::size_t kExperts = kAllMatrices, kChosen = kChosenMatrices;
  static constexpr std::size_t kPairs = kExperts / kChosen;
  using Pair = std::array<std::size_t, kChosen>;

  std::size_t size;
  std::string dtype;
  InputCopies weights;
  std::vector<Bf16> x;
  std::vector<double> expected;  ///< of pair(0), in float64

  /// Rounding to bf16 (8 significant bits) costs up to 2^-8; f32 sums about 1e-5 of the root mean square.
  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

  std::size_t matrix_bytes() const { return weights.bytes() / kExperts; }
  std::size_t chosen_bytes() const { return kChosen * matrix_bytes(); }
  std::size_t turns() const { return weights.copies() * kPairs; }
  static const Pair& pair(std::size_t turn);
  const std::byte* matrix(std::size_t turn, std::size_t chosen) const {
    return weights.copy(turn / kPairs) + pair(turn)[chosen] * matrix_bytes();
  }
};

using GemvWorkload = MatrixVectorWorkload<1, 1>;
/// Chooses the pairs (3,5), (0,1), (2,4), (6,7) in turn.
using GatherGemvWorkload = MatrixVectorWorkload<8, 2>;

/// From the axes D and dtype, shared by live cases with these inputs. Declares work and inputs; skips the
/// case if memory is short.
std::shared_ptr<const GemvWorkload> gemv_workload(State& state, const Team& team);
std::shared_ptr<const GatherGemvWorkload> gather_gemv_workload(State& state, const Team& team);

/// y = LayerNorm(x) over the rows of x[BS,D]: x and y of bf16; gamma and beta of f32 (as in
/// torch.nn.LayerNorm(D)), representable in bf16; arithmetic in f32. Bytes: x read, y written.
struct LayerNormWorkload {
  std::size_t rows;
  std::size_t columns;
  InputCopies x;
  InputCopies y;  ///< so that writes go to cold memory, too
  std::vector<float> gamma;
  std::vector<float> beta;

  /// As for gemv; statistics in f32 add about 1e-5 of the root mean square.
  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

  std::size_t bytes() const { return x.bytes(); }  ///< of x and of y each
  /// y of the first copy in float64, computed at each call.
  std::vector<double> expected(const Team& team) const;
};

/// From the axes BS and D, like gemv_workload.
std::shared_ptr<LayerNormWorkload> layer_norm_workload(State& state, const Team& team);

/// Linear, LayerNorm, Linear, LayerNorm of one vector: x[D] -> hidden -> y[D], all of bf16; no GELU, despite
/// gpt-fast's name mlp_layer_norm_gelu. FLOPs: 4 D hidden; bytes: those of the weights.
struct MlpWorkload {
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
  std::vector<double> expected;  ///< y in float64, except hidden activations, rounded to bf16

  /// As for gemv. A hidden activation between two bf16 may round differently; with f32 sums, about 1e-4 of
  /// the root mean square.
  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

  std::size_t weight_bytes() const { return up.weights.bytes() + down.weights.bytes(); }
};

/// From the axes D and hidden, like gemv_workload.
std::shared_ptr<const MlpWorkload> mlp_workload(State& state, const Team& team);

struct SeedExperiment {
  Experiment::Function run = nullptr;  ///< null: not implemented
  std::vector<std::string> backends;
  std::map<std::string, std::vector<std::string>> variants{};  ///< by backend
};
struct SeedExperiments {
  SeedExperiment gemv, gather_gemv, layer_norm, mlp_layer_norm_gelu;
};

/// Equal axes, metrics and summaries make runners comparable. `device`: Experiment::device.
void add_seed_experiments(Registry& registry, const SeedExperiments& runner,
                          const std::string& device = "cpu");

}  // namespace headroom
