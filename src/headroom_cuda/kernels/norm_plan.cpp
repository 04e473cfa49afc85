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

struct Choice {
  NormForm form;
  Start start = Start::kBehindOther;
};

/// Rows that begin anywhere are read as if no launch wrote them, and do not start early.
const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = [] {
    std::vector<Choice> made;
    for (const Start start : {Start::kBehindOther, Start::kEarly}) {
      for (const NormForm& form : kNormForms) made.push_back({form, start});
    }
    return made;
  }();
  return all;
}

std::string name_of(const Choice& choice) {
  if (choice.form.vectors == 0) return "long rows";
  return std::to_string(choice.form.vectors) + (choice.form.vectors == 1 ? " vector" : " vectors") +
         (choice.start == Start::kEarly ? kEarlySuffix : "");
}

Choice named(std::string_view name) {
  for (const Choice& choice : choices()) {
    if (name_of(choice) == name) return choice;
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
  return name_of(Choice{form, start});
}

std::vector<std::string> norm_variants() {
  std::vector<std::string> names;
  for (const Choice& choice : choices()) names.push_back(name_of(choice));
  return names;
}

NormPlan norm_plan(std::size_t rows, std::size_t columns, unsigned processors, std::string_view variant) {
  NormPlan plan;
  plan.aligned = columns % kLength == 0;
  const Choice choice = variant.empty() ? Choice{fitting(columns)} : named(variant);
  plan.form = choice.form;
  const bool too_large = !plan.aligned && plan.form.vectors == kNormForms[2].vectors;
  if (too_large || !holds(plan.form, columns)) plan.form = fitting(columns);
  if (plan.aligned && plan.form.vectors != 0) plan.start = choice.start;
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
