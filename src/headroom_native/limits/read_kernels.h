// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Reads [data, data + bytes) once. `data` is aligned to 64 bytes and `bytes` a multiple of 64.
using ReadKernel = void (*)(const std::byte* data, std::size_t bytes);

/// `pattern`: "linear" (one stream), "streams" (four streams, a quarter of the range each), "prefetch" (one
/// stream with software prefetch ahead of it), "streams_prefetch" (four with prefetch past the first-level
/// cache). Throws std::logic_error for any other.
ReadKernel read_kernel(std::string_view pattern, Isa isa);

}  // namespace headroom::native
