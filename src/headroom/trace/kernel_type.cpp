// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/kernel_type.h"

#include <algorithm>
#include <array>

namespace headroom::trace {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// `part` is in lower case.
bool contains(std::string_view text, std::string_view part) {
  return std::ranges::search(text, part, {}, lower).begin() != text.end();
}

template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(text, part); });
}

}  // namespace

const char* to_string(KernelType type) {
  constexpr const char* kNames[] = {"compute", "communication", "memory"};
  return kNames[static_cast<std::size_t>(type)];
}

KernelType kernel_type(std::string_view name) {
  constexpr std::array<std::string_view, 4> kMemoryStarts{"Memcpy", "Memset", "hipMemcpy", "hipMemset"};
  if (std::ranges::any_of(kMemoryStarts, [&](std::string_view start) { return name.starts_with(start); }) ||
      name.starts_with("dma") || name.starts_with("MEMORY_COPY_") ||
      name.find("__amd_rocclr_copyBuffer") != std::string_view::npos) {
    return KernelType::kMemory;
  }
  constexpr std::array<std::string_view, 4> kCommunicationStarts{"nccl", "rccl", "hccl", "mscclKernel"};
  constexpr std::array<std::string_view, 5> kCommunicationParts{"nccl", "rccl", "deep_ep",
                                                                "cross_device_reduce", "nvshmem"};
  if (std::ranges::any_of(kCommunicationStarts,
                          [&](std::string_view start) { return name.starts_with(start); }) ||
      contains_any(name, kCommunicationParts)) {
    return KernelType::kCommunication;
  }
  return KernelType::kCompute;
}

std::vector<KernelType> kernel_types(const Trace& trace) {
  std::vector<KernelType> by_row(trace.gpu.size());
  std::vector<std::uint8_t> by_name(trace.names.size(), 0xff);
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    if (trace.events.category[event] != Category::kKernel) {
      by_row[row] = KernelType::kMemory;
      continue;
    }
    std::uint8_t& known = by_name[trace.events.name[event]];
    if (known == 0xff) known = static_cast<std::uint8_t>(kernel_type(trace.names[trace.events.name[event]]));
    by_row[row] = static_cast<KernelType>(known);
  }
  return by_row;
}

bool is_matmul_or_convolution_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNever{"flash", "fmha",     "attention",    "permute_",
                                                   "moe::", "finalize", "splitkreduce", "im2col"};
  constexpr std::array<std::string_view, 18> kParts{
      "gemm",       "gemv",      "conv",  "cutlass",   "wgrad",
      "dgrad",      "fprop",     "cijk_", "nvjet_",    "cudnn_",
      "winograd",   "implicit_", "xmma",  "triton_mm", "triton_tem_fused_mm",
      "_mm_kernel", "matmul",    "bmm"};
  return !contains_any(name, kNever) && contains_any(name, kParts);
}

bool is_matmul_or_convolution_op(std::string_view name) {
  if (const std::size_t colons = name.find("::"); colons != std::string_view::npos)
    name.remove_prefix(colons + 2);
  constexpr std::array<std::string_view, 22> kOps{"mm",
                                                  "addmm",
                                                  "bmm",
                                                  "baddbmm",
                                                  "addbmm",
                                                  "matmul",
                                                  "linear",
                                                  "mv",
                                                  "addmv",
                                                  "addmm_",
                                                  "baddbmm_",
                                                  "_scaled_mm",
                                                  "_int_mm",
                                                  "_grouped_mm",
                                                  "einsum",
                                                  "dot",
                                                  "bilinear",
                                                  "chain_matmul",
                                                  "_addmm_activation",
                                                  "tensordot",
                                                  "inner",
                                                  "vdot"};
  if (std::ranges::find(kOps, name) != kOps.end()) return true;
  return name.find("convolution") != std::string_view::npos ||
         name.find("conv1d") != std::string_view::npos || name.find("conv2d") != std::string_view::npos ||
         name.find("conv3d") != std::string_view::npos ||
         name.find("conv_transpose") != std::string_view::npos ||
         name.find("linear_backward") != std::string_view::npos;
}

}  // namespace headroom::trace
