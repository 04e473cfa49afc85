// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Copies `bytes` bytes. Both ranges are aligned to 64 bytes and do not overlap; `bytes` is a multiple of 64.
/// After the last call, store_fence() waits for non-temporal stores.
using CopyKernel = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

/// `pattern`: "plain", "nontemporal" (stores around the caches), "prefetch" (the same with software prefetch
/// of the source). Throws std::logic_error for any other.
CopyKernel copy_kernel(std::string_view pattern, Isa isa);

}  // namespace headroom::native
