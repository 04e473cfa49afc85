// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/kernel_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "headroom/base/text.h"
#include "headroom_trace/columns/attribution.h"

namespace headroom::trace {
namespace {

std::string without(std::string_view text, std::string_view part) {
  std::string out;
  for (std::size_t found; (found = text.find(part)) != std::string_view::npos;) {
    out += text.substr(0, found);
    text.remove_prefix(found + part.size());
  }
  return out += text;
}

std::string outside_of_brackets(std::string_view text) {
  std::string out;
  std::string open;
  std::vector<std::size_t> lengths;
  for (const char c : text) {
    if (c == '<' || c == '(') {
      open += c;
      lengths.push_back(out.size());
    }
    const char partner = c == '>' ? '<' : c == ')' ? '(' : '\0';
    if (partner == '\0') {
      out += c;
      continue;
    }
    const std::size_t place = open.rfind(partner);
    if (place == std::string::npos) continue;
    out.resize(lengths[place]);
    open.resize(place);
    lengths.resize(place);
  }
  return out;
}

/// "AddFunctor", "direct_copy_kernel_cuda", "MeanOps"; empty if unknown.
std::string_view functor_of(std::string_view name) {
  constexpr std::string_view kEndings[] = {"Functor", "_kernel_cuda", "Ops"};
  const auto is_of_name = [](char c) { return is_digit(c) || c == '_' || (c | 0x20) >= 'a'; };
  for (std::size_t at = name.find('<'); at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_of_name(name[end])) ++end;
    const std::string_view word = name.substr(at, end - at);
    if (std::ranges::any_of(kEndings, [&](std::string_view ending) { return word.ends_with(ending); }))
      return word;
    at = std::max(end, at + 1);
  }
  return {};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// `part` must be lower case.
bool contains_lower(std::string_view text, std::string_view part) {
  const auto are_equal = [](char a, char b) { return lower(a) == b; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), are_equal) != text.end();
}

/// NCCL, RCCL, HCCL (hcom_), oneCCL, BKCL, MSCCL and MSCCL++, DeepEP and relatives (plain and mangled),
/// NVSHMEM, rocSHMEM, Intel SHMEM, userbuffers of Transformer Engine and TensorRT-LLM.
constexpr std::array<std::string_view, 16> kLibraries{
    "nccl",    "rccl",     "hccl",          "hcom_",         "oneccl",       "bkcl",
    "msccl",   "deep_ep",  "ep::internode", "ep::intranode", "ep9internode", "ep9intranode",
    "nvshmem", "rocshmem", "ishmem",        "userbuffers"};
/// vLLM, SGLang, FlashInfer, TensorRT-LLM, AITER and symmetric memory.
constexpr std::array<std::string_view, 15> kCollectives{
    "all_reduce",         "allreduce",  "reduce_scatter", "reducescatter", "all_gather",
    "allgather",          "all_to_all", "alltoall",       "all2all",       "cross_device_reduce",
    "cross_device_store", "multimem",   "moea2a",         "internode_ll",  "ep12internode_ll"};

template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains_lower(text, part); });
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

struct NamePart {
  std::string_view text;
  KernelCategory category;
};

std::optional<KernelCategory> first_of(std::span<const NamePart> parts, std::string_view lower) {
  const auto found =
      std::ranges::find_if(parts, [&](const NamePart& part) { return contains(lower, part.text); });
  return found == parts.end() ? std::nullopt : std::optional(found->category);
}

using enum KernelCategory;

// The first match counts. These match only the name before its template arguments...
constexpr NamePart kBaseParts[] = {
    {"multi_tensor", kOptimizer}, {"fused_adam", kOptimizer},     {"adam_", kOptimizer},
    {"fused_sgd", kOptimizer},    {"adagrad_kernel", kOptimizer}, {"optimizer", kOptimizer},
    {"rotary", kElementwise},     {"embedding", kEmbedding},      {"pooled_embs", kEmbedding},
    {"indexselect", kEmbedding},  {"index_select", kEmbedding},   {"vectorized_gather", kEmbedding},
    {"catarray", kMemory},        {"nchwtonhwc", kMemory},        {"nhwctonchw", kMemory},
    {"transpose", kMemory},       {"reshape_and_cache", kMemory}, {"concat_and_cache", kMemory},
    {"permute", kMemory},         {"fillbuffer", kMemory}};
// ...and these the whole name.
constexpr NamePart kParts[] = {
    {"fmha", kAttention},           {"flash_fwd", kAttention},      {"flash_bwd", kAttention},
    {"flashattn", kAttention},      {"flash_attn", kAttention},     {"flashmla", kAttention},
    {"flash_mla", kAttention},      {"mla_", kAttention},           {"attention", kAttention},
    {"attn", kAttention},           {"sage_fwd", kAttention},       {"sdpa", kAttention},
    {"batch_norm", kNormalisation}, {"batchnorm", kNormalisation},  {"cudnn::bn_", kNormalisation},
    {"bn_fw", kNormalisation},      {"bn_bw", kNormalisation},      {"layer_norm", kNormalisation},
    {"layernorm", kNormalisation},  {"group_norm", kNormalisation}, {"groupnorm", kNormalisation},
    {"rms_norm", kNormalisation},   {"rmsnorm", kNormalisation},    {"rowwisemoments", kNormalisation},
    {"gammabeta", kNormalisation},  {"ln_fwd", kNormalisation},     {"ln_bwd", kNormalisation}};
constexpr std::string_view kConvolutions[] = {"conv",     "wgrad",  "dgrad",  "fprop",
                                              "winograd", "cudnn_", "im2col", "col2im"};
constexpr NamePart kGenericParts[] = {{"im2col", kConvolution},
                                      {"col2im", kConvolution},
                                      {"direct_copy", kMemory},
                                      {"fillfunctor", kMemory},
                                      {"softmax", kReduction},
                                      {"nll_loss", kReduction},
                                      {"cross_entropy", kReduction},
                                      {"elementwise", kElementwise},
                                      {"pointwise", kElementwise},
                                      {"reduce", kReduction},
                                      {"argm", kReduction},
                                      {"topk", kReduction},
                                      {"sort", kReduction},
                                      {"scan", kReduction},
                                      {"pool", kReduction},
                                      {"triton_poi_", kElementwise},
                                      {"triton_red_", kReduction},
                                      {"triton_per_", kReduction},
                                      {"copy", kMemory},
                                      {"fill", kMemory},
                                      {"act_and_mul", kElementwise},
                                      {"silu", kElementwise},
                                      {"gelu", kElementwise},
                                      {"dropout", kElementwise},
                                      {"quant", kElementwise},
                                      {"convert", kElementwise},
                                      {"cast", kElementwise},
                                      {"optensor", kElementwise}};

constexpr NamePart kOpParts[] = {
    {"attention", kAttention},      {"layernorm", kNormalisation},  {"layer_norm", kNormalisation},
    {"batchnorm", kNormalisation},  {"batch_norm", kNormalisation}, {"groupnorm", kNormalisation},
    {"group_norm", kNormalisation}, {"rmsnorm", kNormalisation},    {"rms_norm", kNormalisation},
    {"embedding", kEmbedding},      {"index_select", kEmbedding},   {"fused_adam", kOptimizer},
    {"fused_sgd", kOptimizer},      {"fused_adagrad", kOptimizer},  {"_foreach_", kOptimizer},
    {"convolution", kConvolution},  {"softmax", kReduction},        {"nll_loss", kReduction},
    {"cross_entropy", kReduction}};

/// Classifies by the fused operators in the name; rsqrt of a mean is a normalisation.
std::optional<KernelCategory> inductor_category(std::string_view lower) {
  if (!lower.starts_with("triton_")) return std::nullopt;
  if (lower.starts_with("triton_tem_") && contains(lower, "attention")) return kAttention;
  if (contains(lower, "norm")) return kNormalisation;
  if (contains(lower, "rsqrt") && (contains(lower, "mean") || contains(lower, "var"))) return kNormalisation;
  if (contains(lower, "embedding")) return kEmbedding;
  return std::nullopt;
}

bool is_generic(KernelCategory category, std::string_view name) {
  if (category == kMemory) return is_generic_kernel(name);
  return category == kElementwise || category == kReduction || category == kOther;
}

/// Category of `op` or its innermost ancestor with one.
std::optional<KernelCategory> category_above(
    const Trace& trace, std::uint32_t op, const std::vector<std::uint32_t>& parent,
    std::vector<std::optional<std::optional<KernelCategory>>>& known) {
  for (; op != kNone; op = parent[op]) {
    const NameId name = trace.events.name[op];
    if (!known[name]) known[name] = op_category(trace.names[name]);
    if (*known[name]) return *known[name];
  }
  return std::nullopt;
}

}  // namespace

std::string readable_name(std::string_view name) {
  std::string base = name.starts_with("_Z") ? kernel_base_name(name) : short_name(name);
  if (const std::size_t colons = base.rfind("::"); colons != std::string::npos) base.erase(0, colons + 2);
  const std::string_view functor = functor_of(name);
  return functor.empty() || !is_generic_kernel(name) ? base : base + "<" + std::string(functor) + ">";
}

std::string short_name(std::string_view name) {
  if (kernel_type(name) == KernelType::kMemory || name.find_first_of("<(") == std::string_view::npos)
    return std::string(name);
  std::string text = without(name, "(anonymous namespace)::");
  if (const std::size_t clone = text.find(" [clone"); clone != std::string::npos) text.resize(clone);
  text = outside_of_brackets(without(text, "->"));
  const std::string_view left = trimmed(text);
  const std::string_view last = left.substr(left.find_last_of(' ') + 1);
  return std::string(last.empty() ? name : last);
}

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
  // Fused loops are named after preceding ops, even collectives.
  if (name.starts_with("triton_") && name.find("_fused_") != std::string_view::npos)
    return KernelType::kCompute;
  const bool is_communication = contains_any(name, kLibraries) || contains_any(name, kCollectives);
  return is_communication ? KernelType::kCommunication : KernelType::kCompute;
}

bool matches_kernel(std::string_view pattern, std::string_view name) {
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
      const std::string_view name = trace.event_name(event);
      const bool is_named =
          std::ranges::any_of(trace.communication_patterns,
                              [&](const std::string& pattern) { return matches_kernel(pattern, name); });
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
  // <length><identifier>...; template arguments begin with I.
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
    // Only templates multiply.
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

const char* to_string(KernelCategory category) {
  constexpr const char* kNames[kKernelCategories] = {
      "GEMM",      "convolution", "attention",     "normalisation", "elementwise", "reduction",
      "embedding", "optimizer",   "communication", "memory",        "other"};
  return kNames[static_cast<std::size_t>(category)];
}

KernelCategory kernel_category(std::string_view name) {
  const KernelType type = kernel_type(name);
  if (type != KernelType::kCompute) return type == KernelType::kMemory ? kMemory : kCommunication;
  const std::string lower = lower_case(name);
  if (const auto found = inductor_category(lower)) return *found;
  if (const auto found = first_of(kBaseParts, lower_case(kernel_base_name(name)))) return *found;
  if (const auto found = first_of(kParts, lower)) return *found;
  if (is_matmul_or_convolution_kernel(name)) {
    const bool is_convolution =
        std::ranges::any_of(kConvolutions, [&](std::string_view part) { return contains(lower, part); });
    return is_convolution ? kConvolution : kGemm;
  }
  return first_of(kGenericParts, lower).value_or(kOther);
}

std::optional<KernelCategory> op_category(std::string_view name) {
  return first_of(kOpParts, lower_case(name));
}

std::vector<KernelCategory> kernel_categories(const Trace& trace, const std::vector<KernelType>& types) {
  const std::vector<std::uint32_t> parent =
      parents(trace, mask_of(Category::kCpuOp),
              mask_of(Category::kCpuOp) | mask_of(Category::kRuntime) | mask_of(Category::kDriver));
  const std::vector<std::uint32_t> op = launching_ops(trace, launches(trace), parent);
  std::vector<std::optional<KernelCategory>> by_name(trace.names.size());
  std::vector<std::optional<std::optional<KernelCategory>>> by_op(trace.names.size());
  std::vector<KernelCategory> categories(trace.gpu.size(), kMemory);
  for (std::size_t row = 0; row < categories.size(); ++row) {
    if (types[row] == KernelType::kCommunication) categories[row] = kCommunication;
    if (types[row] != KernelType::kCompute) continue;
    const NameId id = trace.events.name[trace.gpu[row].event];
    if (!by_name[id]) by_name[id] = kernel_category(trace.names[id]);
    categories[row] = *by_name[id];
    if (!is_generic(categories[row], trace.names[id])) continue;
    if (const auto above = category_above(trace, op[row], parent, by_op)) categories[row] = *above;
  }
  return categories;
}

}  // namespace headroom::trace
