// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/norm_plan.h"

#include <algorithm>
#include <bit>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cuda {
namespace {

constexpr std::size_t kLength = 8;  // of a vector
constexpr unsigned kWarp = 32;
constexpr unsigned kMostBlocks = 32;  // of a multiprocessor

std::string name_of(const NormForm& form) {
  if (form.vectors == 0) return "long rows";
  return std::to_string(form.vectors) + (form.vectors == 1 ? " vector" : " vectors");
}

NormForm named(std::string_view name) {
  for (const NormForm& form : kNormForms) {
    if (name_of(form) == name) return form;
  }
  throw Error("no variant " + in_quotes(std::string(name)) + " of this kernel");
}

bool holds(const NormForm& form, std::size_t columns) {
  return columns <= kLength * form.threads * static_cast<std::size_t>(form.vectors);
}

/// The one that holds such rows with the most vectors.
NormForm fitting(std::size_t columns) {
  const bool aligned = columns % kLength == 0;
  if (aligned && holds(kNormForms[2], columns)) return kNormForms[2];
  return holds(kNormForms[1], columns) ? kNormForms[1] : kLongNormForm;
}

}  // namespace

std::string NormPlan::name() const {
  return name_of(form);
}

std::vector<std::string> norm_variants() {
  std::vector<std::string> names;
  for (const NormForm& form : kNormForms) names.push_back(name_of(form));
  return names;
}

NormPlan norm_plan(std::size_t rows, std::size_t columns, unsigned processors, std::string_view variant) {
  NormPlan plan;
  plan.aligned = columns % kLength == 0;
  plan.form = variant.empty() ? fitting(columns) : named(variant);
  const bool too_large = !plan.aligned && plan.form.vectors == kNormForms[2].vectors;
  if (too_large || !holds(plan.form, columns)) plan.form = fitting(columns);
  plan.threads = plan.form.threads;
  if (plan.form.vectors != 0) {
    const std::size_t in_thread = kLength * static_cast<std::size_t>(plan.form.vectors);
    plan.threads =
        std::max(kWarp, std::bit_ceil(static_cast<unsigned>((columns + in_thread - 1) / in_thread)));
  }
  const unsigned resident = std::min(kMostBlocks, plan.form.blocks * plan.form.threads / plan.threads);
  plan.blocks = static_cast<unsigned>(std::min<std::size_t>(rows, std::size_t{processors} * resident));
  return plan;
}

}  // namespace headroom::cuda
