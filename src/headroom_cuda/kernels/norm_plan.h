// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_cuda/kernels/launch_start.h"
#include "headroom_cuda/kernels/norm_problem.h"

namespace headroom::cuda {

/// How a LayerNorm is launched.
struct NormPlan {
  NormForm form = kLongNormForm;
  Start start = Start::kBehindOther;
  unsigned threads = 0;  ///< of a block, which has a row: a power of two from 32 on
  unsigned blocks = 0;
  bool aligned = true;  ///< every row begins at a multiple of 16 bytes

  std::string name() const;  ///< "4 vectors", "4 vectors, early", "long rows"
};

std::vector<std::string> norm_variants();

/// For `rows` rows of `columns` values of bf16 on a device of `processors` multiprocessors. `variant` is one
/// of norm_variants(), or empty for what suits the sizes; where it cannot hold such rows, the plan has
/// another name. Throws Error for a name that is none.
NormPlan norm_plan(std::size_t rows, std::size_t columns, unsigned processors, std::string_view variant);

}  // namespace headroom::cuda
