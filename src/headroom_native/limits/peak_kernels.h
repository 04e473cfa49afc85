// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Loop of one instruction, with enough independent results to hide its latency.
struct PeakKernel {
  void (*run)(std::uint64_t rounds) = nullptr;  ///< null if this CPU cannot run it
  double flops_per_round = 0;                   ///< a multiply and an add count as two, for integers too
  std::string instruction;                      ///< "vfmadd231ps zmm"
  std::string why_not;                          ///< set if run is null
};

/// `dtype`: f64, f32, bf16, int8. `pattern`: "fma" (bf16 and int8 widened to f32, conversions not counted),
/// "dot" (sums of narrow products), "amx" (tiles; asks Linux for permission).
PeakKernel peak_kernel(std::string_view dtype, std::string_view pattern, Isa isa);

}  // namespace headroom::native
