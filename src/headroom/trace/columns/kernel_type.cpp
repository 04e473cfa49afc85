// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/kernel_type.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "headroom/base/glob.h"
#include "headroom/trace/columns/short_name.h"

namespace headroom::trace {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// `part` is in lower case.
bool contains_lower(std::string_view text, std::string_view part) {
  const auto are_equal = [](char a, char b) { return lower(a) == b; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), are_equal) != text.end();
}

/// Libraries of communication by what their kernels have in their names: NCCL (its symmetric kernels too),
/// RCCL, HCCL (hcom_ are its operations), oneCCL, BKCL, MSCCL and MSCCL++, DeepEP and its relatives (plain
/// and mangled), NVSHMEM, rocSHMEM, Intel SHMEM, userbuffers of Transformer Engine and TensorRT-LLM.
constexpr std::array<std::string_view, 16> kLibraries{
    "nccl",    "rccl",     "hccl",          "hcom_",         "oneccl",       "bkcl",
    "msccl",   "deep_ep",  "ep::internode", "ep::intranode", "ep9internode", "ep9intranode",
    "nvshmem", "rocshmem", "ishmem",        "userbuffers"};
/// Collectives by what they do, as custom kernels of vLLM, SGLang, FlashInfer, TensorRT-LLM, AITER and
/// symmetric memory are called.
constexpr std::array<std::string_view, 15> kCollectives{
    "all_reduce",         "allreduce",  "reduce_scatter", "reducescatter", "all_gather",
    "allgather",          "all_to_all", "alltoall",       "all2all",       "cross_device_reduce",
    "cross_device_store", "multimem",   "moea2a",         "internode_ll",  "ep12internode_ll"};

template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains_lower(text, part); });
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
  // Inductor names its fused loops after all that they follow, collectives among it.
  if (name.starts_with("triton_") && name.find("_fused_") != std::string_view::npos)
    return KernelType::kCompute;
  const bool is_communication = contains_any(name, kLibraries) || contains_any(name, kCollectives);
  return is_communication ? KernelType::kCommunication : KernelType::kCompute;
}

bool fits_kernel(std::string_view pattern, std::string_view name) {
  return fits_glob(pattern, name) || fits_glob(pattern, kernel_base_name(name)) ||
         fits_glob(pattern, short_name(name));
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
    if (known == 0xff) {
      const std::string_view name = trace.names[trace.events.name[event]];
      const bool is_named =
          std::ranges::any_of(trace.communication_patterns,
                              [&](const std::string& pattern) { return fits_kernel(pattern, name); });
      known = static_cast<std::uint8_t>(is_named ? KernelType::kCommunication : kernel_type(name));
    }
    by_row[row] = static_cast<KernelType>(known);
  }
  return by_row;
}

std::string kernel_base_name(std::string_view name) {
  constexpr std::string_view kVoid = "void ";
  if (name.starts_with(kVoid)) name.remove_prefix(kVoid.size());
  if (!name.starts_with("_Z")) return std::string(name.substr(0, name.find('<')));
  name.remove_prefix(name.starts_with("_ZN") ? 3 : 2);
  // <length><identifier>, again and again; template arguments begin with an I.
  std::string base;
  std::size_t length = 0;
  for (const char* at = name.data(); at != name.data() + name.size(); at += length) {
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(at, end, length);
    if (error != std::errc{} || length == 0 || length > static_cast<std::size_t>(end - rest)) break;
    if (!base.empty()) base += "::";
    base.append(rest, length);
    at = rest;
  }
  return base;
}

bool is_generic_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 8> kParts{"elementwise", "copy",    "fill",     "memset",
                                                   "cast",        "convert", "catarray", "subtensorop"};
  const std::string base = kernel_base_name(name);
  return contains_any(base, kParts) ||
         (base.starts_with("at::native") && base.find("reduce_kernel") != std::string::npos);
}

bool is_matmul_or_convolution_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 11> kNever{"flash",       "fmha",      "attention", "permute_",
                                                    "moe::",       "finalize",  "quantize",  "_quant_",
                                                    "typeconvert", "embedding", "softmax"};
  constexpr std::array<std::string_view, 18> kParts{
      "gemm",  "gemv",  "cijk_",  "nvjet_", "winograd", "wgrad",  "dgrad",  "fprop",   "cudnn_",
      "_conv", "conv_", "conv1d", "conv2d", "conv3d",   "convol", "matmul", "cutlass", "splitkreduce"};
  constexpr std::array<std::string_view, 6> kMoreParts{"miopenconv",       "bmm_", "_mm_kernel", "marlin",
                                                       "fused_moe_kernel", "xmma"};
  if (contains_any(name, kNever) || is_generic_kernel(name)) return false;
  if (name.starts_with("triton_")) {
    // Inductor names its fused loops after the ops that they follow; only its templates multiply.
    constexpr std::array<std::string_view, 3> kProducts{"mm", "conv", "matmul"};
    return (name.starts_with("triton_tem_") || name.starts_with("triton_mm") ||
            name.starts_with("triton_bmm")) &&
           contains_any(name, kProducts);
  }
  return contains_any(name, kParts) || contains_any(name, kMoreParts);
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
