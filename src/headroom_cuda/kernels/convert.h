// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace headroom::cuda {

/// `count` values of int8 as bf16, for libraries that do not multiply the one with the other. Returns without
/// waiting. Throws Error where the device refuses the launch.
void launch_convert(const std::int8_t* from, std::uint16_t* to, std::size_t count, unsigned processors,
                    cudaStream_t stream);

}  // namespace headroom::cuda
