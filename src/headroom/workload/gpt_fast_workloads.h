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

/// y = W.to(bf16) @ x: W[D,D] of int8 (uniform in [-127, 127]) or bf16, x[D] and y[D] of bf16. FLOPs: 2 D^2;
/// bytes: those of W.
struct GemvWorkload {
  std::size_t size;
  std::string dtype;
  InputCopies weights;
  std::vector<Bf16> x;
  std::vector<double> expected;

  /// Rounding to bf16 (8 significant bits) costs up to 2^-8; f32 sums add about 1e-5 of the root mean square.
  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

  std::size_t weight_bytes() const { return weights.bytes(); }
};

/// From the axes D and dtype, shared by all live cases with these inputs. Declares work and inputs; skips the
/// case if memory is short.
std::shared_ptr<const GemvWorkload> gemv_workload(State& state, const Team& team);

/// y = W[[3,5]].to(bf16) @ x: W[8,D,D] of int8 or bf16, x[D] of bf16, y[2,D] of bf16. FLOPs: 4 D^2; bytes:
/// those of the two matrices. With cold caches the pairs (3,5), (0,1), (2,4), (6,7) rotate.
struct GatherGemvWorkload {
  static constexpr std::size_t kExperts = 8, kChosen = 2;
  using Pair = std::array<std::size_t, kChosen>;

  std::size_t size;
  std::string dtype;
  InputCopies experts;
  std::vector<Bf16> x;
  std::vector<double> expected;  ///< of pair(0), in float64

  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};  ///< as for gemv

  std::size_t matrix_bytes() const { return experts.bytes() / kExperts; }
  static const Pair& pair(std::size_t copy);
  const std::byte* stack(std::size_t copy) const;
  const std::byte* matrix(std::size_t copy, std::size_t chosen) const {
    return stack(copy) + pair(copy)[chosen] * matrix_bytes();
  }
};

/// Like gemv_workload.
std::shared_ptr<const GatherGemvWorkload> gather_gemv_workload(State& state, const Team& team);

/// y = LayerNorm(x) over the rows of x[BS,D]: x and y of bf16; gamma and beta of f32 (as in
/// torch.nn.LayerNorm(D)) with values that bf16 can represent; arithmetic in f32. Bytes: x read and y
/// written.
struct LayerNormWorkload {
  std::size_t rows;
  std::size_t columns;
  InputCopies x;
  InputCopies y;  ///< copied so that iterations write to cold memory, too
  std::vector<float> gamma;
  std::vector<float> beta;

  /// As for gemv; the statistics in f32 add about 1e-5 of the root mean square.
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

  /// As for gemv. A hidden activation between two bf16 may round differently; that and f32 sums add about
  /// 1e-4 of the root mean square.
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

/// The same axes, metrics and summaries for every runner make cases comparable. `device`: Experiment::device.
void add_seed_experiments(Registry& registry, const SeedExperiments& runner,
                          const std::string& device = "cpu");

}  // namespace headroom
