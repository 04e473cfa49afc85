// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// "at::native::add" for "void at::native::add<float>(int)". Keeps the names of copies and sets.
std::string short_name(std::string_view name);

/// Strips namespaces and template arguments, except functors of generic kernels:
/// "vectorized_elementwise_kernel<AddFunctor>".
std::string readable_name(std::string_view name);

enum class KernelType : std::uint8_t { kCompute, kCommunication, kMemory };
const char* to_string(KernelType type);

/// Communication (lists in kernel_names.cpp), memory (copies and sets), else compute.
KernelType kernel_type(std::string_view name);

/// Matches the full, base or short name.
bool matches_kernel(std::string_view pattern, std::string_view name);

/// Copies and sets by category, kernels by trace.communication_patterns and name.
std::vector<KernelType> kernel_types(const Trace& trace);

/// A plain or Itanium-mangled name up to its template arguments: "at::native::vectorized_elementwise_kernel".
std::string kernel_base_name(std::string_view name);

/// Kernels of cuBLAS, cuBLASLt, CUTLASS, cuDNN, hipBLASLt (Cijk_), Blackwell (nvjet_), MIOpen, composable
/// kernel and Triton's templates; not their flash attention, permutations, quantisation and MoE routing.
bool is_matmul_or_convolution_kernel(std::string_view name);
bool is_matmul_or_convolution_op(std::string_view name);
/// Kernels that copy, fill, convert, add or sum; not layout and Winograd transforms.
bool is_generic_kernel(std::string_view name);

enum class KernelCategory : std::uint8_t {
  kGemm,
  kConvolution,
  kAttention,
  kNormalisation,
  kElementwise,
  kReduction,  ///< also softmax, losses, sorting, selecting
  kEmbedding,
  kOptimizer,
  kCommunication,
  kMemory,  ///< also kernels that only move data
  kOther
};
inline constexpr std::size_t kKernelCategories = static_cast<std::size_t>(KernelCategory::kOther) + 1;
const char* to_string(KernelCategory category);

/// Cannot tell the purpose of elementwise loops.
KernelCategory kernel_category(std::string_view name);

/// Nothing if the name does not tell.
std::optional<KernelCategory> op_category(std::string_view name);

/// By row of trace.gpu; `types`: kernel_types. Generic kernels take the category of the innermost operator
/// that has one. Needs kLaunches and kOps.
std::vector<KernelCategory> kernel_categories(const Trace& trace, const std::vector<KernelType>& types);

}  // namespace headroom::trace
