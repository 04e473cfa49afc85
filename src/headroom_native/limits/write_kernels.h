// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Sets all bits of [data, data + bytes). `data` is aligned to 64 bytes and `bytes` a multiple of 64.
/// After the last call, store_fence() waits for non-temporal stores.
using WriteKernel = void (*)(std::byte* data, std::size_t bytes);

/// `pattern`: "plain" or "nontemporal" (around the caches). Throws std::logic_error for any other.
WriteKernel write_kernel(std::string_view pattern, Isa isa);

/// Clears whole lines by the instruction for that (clzero of AMD, dc zva of aarch64), which reads nothing and
/// may be faster than any store: no bound of a kernel that writes values. Null where this CPU has none.
WriteKernel zero_kernel();

}  // namespace headroom::native
