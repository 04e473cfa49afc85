// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// A loop of one arithmetic instruction on registers alone, with enough independent results to hide its
/// latency.
struct PeakKernel {
  void (*run)(std::uint64_t rounds) = nullptr;  ///< null where this CPU cannot
  double flops_per_round = 0;                   ///< a multiply and an add count as two, for integers too
  std::string instruction;                      ///< "vfmadd231ps zmm"
  std::string why_not;                          ///< where run is null
};

/// `dtype`: f64, f32, bf16, int8. `pattern`: "fma" (multiply and add of one element each; bf16 and int8
/// widened to f32, conversions not counted), "dot" (sums of products of narrow elements), "amx" (products of
/// tiles; asks the kernel for the permission to use them).
PeakKernel peak_kernel(std::string_view dtype, std::string_view pattern, Isa isa);

}  // namespace headroom::native
