// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/team.h"

namespace headroom {

/// y = W.to(bf16) @ x: W[D,D] of int8 (uniform in [-127, 127]) or bf16, x[D] of bf16, y[D] of bf16.
/// FLOPs: 2 D^2; bytes: those of W.
struct GemvWorkload {
  std::size_t size;   ///< D
  std::string dtype;  ///< of W
  InputCopies weights;
  std::vector<Bf16> x;
  std::vector<double> expected;  ///< y in float64, not rounded

  /// Rounding the result to bf16 (8 significant bits) costs up to 2^-8 of it; summing in f32 adds about 1e-5
  /// of the root mean square.
  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

  std::size_t weight_bytes() const { return weights.bytes(); }
};

/// From the axes D and dtype; the same object for every case with these inputs that lives now. Says the work
/// and the inputs to `state`; skips where the memory does not do.
std::shared_ptr<const GemvWorkload> gemv_workload(State& state, const Team& team);

}  // namespace headroom
