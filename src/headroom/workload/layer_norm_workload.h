// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/team.h"

namespace headroom {

/// y = LayerNorm(x) over the rows of x[BS,D]: x and y of bf16, gamma and beta of f32 (what
/// torch.nn.LayerNorm(D) makes by default) with values that bf16 holds too, arithmetic in f32. Its bytes are
/// x read and y written.
struct LayerNormWorkload {
  std::size_t rows;     ///< BS
  std::size_t columns;  ///< D
  InputCopies x;
  InputCopies y;  ///< each iteration writes where none has written lately, too
  std::vector<float> gamma;
  std::vector<float> beta;

  /// Rounding the result to bf16 (8 significant bits) costs up to 2^-8 of it; statistics in f32 add about
  /// 1e-5 of the root mean square.
  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

  std::size_t bytes() const { return x.bytes(); }  ///< of x, and of y
  /// y of the first copy in float64: rows * columns values, computed at each call.
  std::vector<double> expected(const Team& team) const;
};

/// From the axes BS and D; see gemv_workload.
std::shared_ptr<LayerNormWorkload> layer_norm_workload(State& state, const Team& team);

}  // namespace headroom
