// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Returns the kernel name without template arguments, parameters, return type, anonymous namespaces and
/// clone marks: "void at::native::add<float>(int)" -> "at::native::add". Copies and sets keep their names.
/// Kernels of one template share a short name.
std::string short_name(std::string_view name);

/// Returns the name without namespaces and template arguments, except for the functor of a generic kernel:
/// "vectorized_elementwise_kernel<AddFunctor>".
std::string telling_name(std::string_view name);

/// The type of GPU work.
enum class KernelType : std::uint8_t { kCompute, kCommunication, kMemory };
const char* to_string(KernelType type);

/// Classifies by name: communication (the collective and expert-parallel kernels of the libraries in
/// kernel_names.cpp), memory (Memcpy, Memset, dma, __amd_rocclr_copyBuffer, MEMORY_COPY_*), else compute.
/// Inductor's fused kernels that are named after a preceding collective are compute.
KernelType kernel_type(std::string_view name);

/// True if the user's glob ('*' and '?', base/text.h) matches the whole name, the name without template
/// arguments, or the name without parameters and return type.
bool fits_kernel(std::string_view pattern, std::string_view name);

/// The type of each row of trace.gpu: copies and sets by category, kernels by trace.communication_patterns
/// and by name.
std::vector<KernelType> kernel_types(const Trace& trace);

/// Returns the name up to its template arguments, without "void ", of a plain or Itanium-mangled C++ name:
/// "at::native::vectorized_elementwise_kernel".
std::string kernel_base_name(std::string_view name);

/// True for the name of a matrix product or convolution kernel of cuBLAS, cuBLASLt, CUTLASS, cuDNN, hipBLASLt
/// (Cijk_), Blackwell (nvjet_), MIOpen, composable kernel, or Triton's templates. False for flash attention,
/// permutations, quantisation and MoE routing of the same libraries. Used where no op is known.
bool is_matmul_or_convolution_kernel(std::string_view name);
/// By the operator's name: aten::mm, addmm, bmm, matmul, linear, convolution and their backwards...
bool is_matmul_or_convolution_op(std::string_view name);
/// True for the name of a generic kernel that copies, fills, converts, adds or sums, as ATen and MIOpen
/// launch next to a product. Layout and Winograd transforms belong to the convolution and are not generic.
bool is_generic_kernel(std::string_view name);

/// The category of GPU work by what it computes.
enum class KernelCategory : std::uint8_t {
  kGemm,
  kConvolution,
  kAttention,
  kNormalisation,
  kElementwise,
  kReduction,  ///< sums, softmax, losses, sorting and selecting
  kEmbedding,  ///< look-ups and gathers by index, and their gradients
  kOptimizer,
  kCommunication,
  kMemory,  ///< copies and sets, and kernels that only move data
  kOther
};
inline constexpr std::size_t kKernelCategories = static_cast<std::size_t>(KernelCategory::kOther) + 1;
const char* to_string(KernelCategory category);

/// Classifies by the kernel's name alone. An elementwise loop does not tell its purpose.
KernelCategory kernel_category(std::string_view name);

/// Returns the category of an operator's own kernels (aten::layer_norm, aten::embedding_dense_backward,
/// aten::_fused_adam_), if its name tells it.
std::optional<KernelCategory> op_category(std::string_view name);

/// Returns the category of each row of trace.gpu. `types` are kernel_types(trace), which decide communication
/// and copies. A kernel with a generic name (elementwise loop, reduction, Triton) takes the category of the
/// innermost enclosing operator that has one. Needs kLaunches and kOps.
std::vector<KernelCategory> kernel_categories(const Trace& trace, const std::vector<KernelType>& types);

}  // namespace headroom::trace
