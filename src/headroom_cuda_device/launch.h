// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace headroom::cuda {

/// Puts the work of one iteration on input copy `copy` into `stream`, and returns without waiting for it. It
/// may be captured into a graph: it neither allocates nor synchronises.
using Launch = std::function<void(std::size_t copy, cudaStream_t stream)>;

}  // namespace headroom::cuda
