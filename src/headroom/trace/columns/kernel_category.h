// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What a piece of GPU work computes.
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

/// By the kernel's name alone: what the libraries call their kernels. A loop over elements says nothing of
/// what it is for.
KernelCategory kernel_category(std::string_view name);

/// What an operator's own loops are for: aten::layer_norm, aten::embedding_dense_backward,
/// aten::_fused_adam_; nothing where its name does not tell.
std::optional<KernelCategory> op_category(std::string_view name);

/// The category of each row of trace.gpu. `types` are kernel_types(trace): communication and copies are what
/// they say. A kernel whose name is generic (a loop over elements, a reduction, a Triton kernel) is what the
/// innermost operator around its launch is for that tells. Needs kLaunches and kOps.
std::vector<KernelCategory> kernel_categories(const Trace& trace, const std::vector<KernelType>& types);

}  // namespace headroom::trace
