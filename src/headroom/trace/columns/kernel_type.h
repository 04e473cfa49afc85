// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What a piece of GPU work is for.
enum class KernelType : std::uint8_t { kCompute, kCommunication, kMemory };
const char* to_string(KernelType type);

/// By name: communication (the collective and expert-parallel kernels of the libraries in kernel_type.cpp),
/// memory (Memcpy, Memset, dma, __amd_rocclr_copyBuffer, MEMORY_COPY_*), the rest compute. What Inductor
/// fused and named after collectives that come before it is compute.
KernelType kernel_type(std::string_view name);

/// Whether a pattern of the user's ('*' and '?', base/glob.h) fits the kernel: all of its name, or the name
/// without its template arguments, or without the parameters and return type as well.
bool fits_kernel(std::string_view pattern, std::string_view name);

/// The type of each row of trace.gpu: copies and sets by category, kernels by trace.communication_patterns
/// and by name.
std::vector<KernelType> kernel_types(const Trace& trace);

/// The name before its template arguments, without "void ", of a plain or an Itanium-mangled C++ name:
/// "at::native::vectorized_elementwise_kernel". What a kernel is, as opposed to what it is made with.
std::string kernel_base_name(std::string_view name);

/// By the kernel's name alone: a matrix product or a convolution of cuBLAS, cuBLASLt, CUTLASS, cuDNN,
/// hipBLASLt (Cijk_), Blackwell (nvjet_), MIOpen, composable kernel, Triton's templates. Flash attention,
/// permutations, quantisation and MoE routing are not, whatever library they come from. The fallback where no
/// op is known.
bool is_matmul_or_convolution_kernel(std::string_view name);
/// By the operator's name: aten::mm, addmm, bmm, matmul, linear, convolution and their backwards...
bool is_matmul_or_convolution_op(std::string_view name);
/// By name: a generic kernel that copies, fills, converts, adds or sums, as ATen and MIOpen launch beside the
/// product itself. Layout and winograd transforms are not: no one would need them but for the convolution.
bool is_generic_kernel(std::string_view name);

}  // namespace headroom::trace
