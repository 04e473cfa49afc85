// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom_native/kernels/thread_pool.h"

namespace headroom::native {

/// A gemv or gather_gemv for a library: one or several matrices of bf16 times the same x, one behind the
/// other in y.
struct MatrixCase {
  std::size_t rows = 0, columns = 0;
  std::vector<std::vector<const Bf16*>> matrices;  ///< by input copy; those of one iteration
  const Bf16* x = nullptr;
  std::vector<double> expected;
  Tolerance tolerance;

  std::size_t outputs() const { return matrices.front().size() * rows; }
};

/// Without oneDNN or OpenBLAS there are no such functions: CMakeLists.txt says what is built.
void measure_onednn(State& state, ThreadPool& pool, const MatrixCase& matrices, bool packed);
void measure_openblas(State& state, ThreadPool& pool, const MatrixCase& matrices);

}  // namespace headroom::native
