// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/kernel_category.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "headroom/base/text.h"
#include "headroom/trace/columns/attribution.h"

namespace headroom::trace {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

struct Part {
  std::string_view text;
  KernelCategory category;
};

std::optional<KernelCategory> first_of(std::span<const Part> parts, std::string_view lower) {
  const auto found =
      std::ranges::find_if(parts, [&](const Part& part) { return contains(lower, part.text); });
  return found == parts.end() ? std::nullopt : std::optional(found->category);
}

using enum KernelCategory;

// Of each list the first part that is in the name counts. In a name's template arguments are functors and
// types of all kinds, so that these are held against what stands before them...
constexpr Part kBaseParts[] = {
    {"multi_tensor", kOptimizer}, {"fused_adam", kOptimizer},     {"adam_", kOptimizer},
    {"fused_sgd", kOptimizer},    {"adagrad_kernel", kOptimizer}, {"optimizer", kOptimizer},
    {"rotary", kElementwise},     {"embedding", kEmbedding},      {"pooled_embs", kEmbedding},
    {"indexselect", kEmbedding},  {"index_select", kEmbedding},   {"vectorized_gather", kEmbedding},
    {"catarray", kMemory},        {"nchwtonhwc", kMemory},        {"nhwctonchw", kMemory},
    {"transpose", kMemory},       {"reshape_and_cache", kMemory}, {"concat_and_cache", kMemory},
    {"permute", kMemory},         {"fillbuffer", kMemory}};
// ...and these against all of it.
constexpr Part kParts[] = {
    {"fmha", kAttention},           {"flash_fwd", kAttention},      {"flash_bwd", kAttention},
    {"flashattn", kAttention},      {"flash_attn", kAttention},     {"flashmla", kAttention},
    {"flash_mla", kAttention},      {"mla_", kAttention},           {"attention", kAttention},
    {"attn", kAttention},           {"sage_fwd", kAttention},       {"sdpa", kAttention},
    {"batch_norm", kNormalisation}, {"batchnorm", kNormalisation},  {"cudnn::bn_", kNormalisation},
    {"bn_fw", kNormalisation},      {"bn_bw", kNormalisation},      {"layer_norm", kNormalisation},
    {"layernorm", kNormalisation},  {"group_norm", kNormalisation}, {"groupnorm", kNormalisation},
    {"rms_norm", kNormalisation},   {"rmsnorm", kNormalisation},    {"rowwisemoments", kNormalisation},
    {"gammabeta", kNormalisation},  {"ln_fwd", kNormalisation},     {"ln_bwd", kNormalisation}};
// Once it is known to multiply: what makes it a convolution.
constexpr std::string_view kConvolutions[] = {"conv",     "wgrad",  "dgrad",  "fprop",
                                              "winograd", "cudnn_", "im2col", "col2im"};
constexpr Part kGenericParts[] = {{"im2col", kConvolution},
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

constexpr Part kOpParts[] = {
    {"attention", kAttention},      {"layernorm", kNormalisation},  {"layer_norm", kNormalisation},
    {"batchnorm", kNormalisation},  {"batch_norm", kNormalisation}, {"groupnorm", kNormalisation},
    {"group_norm", kNormalisation}, {"rmsnorm", kNormalisation},    {"rms_norm", kNormalisation},
    {"embedding", kEmbedding},      {"index_select", kEmbedding},   {"fused_adam", kOptimizer},
    {"fused_sgd", kOptimizer},      {"fused_adagrad", kOptimizer},  {"_foreach_", kOptimizer},
    {"convolution", kConvolution},  {"softmax", kReduction},        {"nll_loss", kReduction},
    {"cross_entropy", kReduction}};

/// A loop of Inductor's: its name has the operators that it fused. Of a root of a mean it is a normalisation.
std::optional<KernelCategory> inductor_category(std::string_view lower) {
  if (!lower.starts_with("triton_")) return std::nullopt;
  if (lower.starts_with("triton_tem_") && contains(lower, "attention")) return kAttention;
  if (contains(lower, "norm")) return kNormalisation;
  if (contains(lower, "rsqrt") && (contains(lower, "mean") || contains(lower, "var"))) return kNormalisation;
  if (contains(lower, "embedding")) return kEmbedding;
  return std::nullopt;
}

/// What loops over elements, or sums, for whoever asks.
bool is_generic(KernelCategory category, std::string_view name) {
  if (category == kMemory) return is_generic_kernel(name);
  return category == kElementwise || category == kReduction || category == kOther;
}

/// Of the innermost operator around `op`, itself included, that tells.
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
  const std::vector<std::uint32_t> op = launching_ops(trace, parent);
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
