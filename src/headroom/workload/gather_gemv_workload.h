// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/team.h"

namespace headroom {

/// y = W[[3,5]].to(bf16) @ x: W[8,D,D] of int8 or bf16, x[D] of bf16, y[2,D] of bf16.
/// FLOPs: 4 D^2; bytes: those of the two matrices. When cold, the pairs (3,5), (0,1), (2,4), (6,7) take
/// turns.
struct GatherGemvWorkload {
  static constexpr std::size_t kExperts = 8, kChosen = 2;
  using Pair = std::array<std::size_t, kChosen>;

  std::size_t size;   ///< D
  std::string dtype;  ///< of W
  InputCopies experts;
  std::vector<Bf16> x;
  std::vector<double> expected;  ///< of pair(0), in float64

  static constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};  ///< as for gemv

  std::size_t matrix_bytes() const { return experts.bytes() / kExperts; }
  /// The experts of rotation `copy`.
  static const Pair& pair(std::size_t copy);
  /// All experts of rotation `copy`: W.
  const std::byte* stack(std::size_t copy) const;
  /// Matrix `chosen` (0 or 1) of rotation `copy`.
  const std::byte* matrix(std::size_t copy, std::size_t chosen) const {
    return stack(copy) + pair(copy)[chosen] * matrix_bytes();
  }
};

/// From the axes D and dtype; see gemv_workload.
std::shared_ptr<const GatherGemvWorkload> gather_gemv_workload(State& state, const Team& team);

}  // namespace headroom
