// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom/trace/cost/op_cost.h"

namespace headroom::trace {

/// What a device can do at most, by its maker's data sheet: dense (no sparsity), at boost clock. 0: it has no
/// such units, or the maker does not say.
struct DevicePeaks {
  std::string_view name;  ///< "A100 80 GB"
  /// FLOP/s of a type: of the matrix units for products, of the vector units for all else.
  double flops_per_second(MathType type, bool is_product) const;
  double bytes_per_second = 0;
  double vector_f64 = 0, vector_f32 = 0;                                    ///< FLOP/s
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0, fp8 = 0, int8 = 0;  ///< of the matrix units
};

/// The device whose name a trace has ("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"), or that a user writes
/// ("h100"). `memory_bytes` tells apart what the name does not (0: not known). nullptr when it is not in the
/// table.
const DevicePeaks* find_device_peaks(std::string_view name, double memory_bytes);

}  // namespace headroom::trace
