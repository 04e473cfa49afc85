// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/gemv_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cuda {
namespace {

constexpr std::size_t kVectorBytes = 16;
constexpr unsigned kWarp = 32, kLarge = 512;

struct Choice {
  GemvForm form;
  GemvBlocks size = GemvBlocks::kLarge;
  Start start = Start::kBehindOther;
};

/// Small blocks are for much to read: the forms with the most in flight. Those that start early are for any
/// size.
const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = [] {
    std::vector<Choice> made;
    for (const GemvForm form : kGemvForms) made.push_back({form});
    for (const GemvForm form : {GemvForm{1, 4}, GemvForm{2, 4}, GemvForm{4, 2}}) {
      made.push_back({form, GemvBlocks::kSmall});
    }
    for (const GemvForm form : {GemvForm{1, 1}, GemvForm{1, 4}, GemvForm{2, 4}, GemvForm{4, 2}}) {
      made.push_back({form, GemvBlocks::kLarge, Start::kEarly});
    }
    for (const GemvForm form : {GemvForm{2, 4}, GemvForm{4, 2}}) {
      made.push_back({form, GemvBlocks::kSmall, Start::kEarly});
    }
    return made;
  }();
  return all;
}

std::string name_of(const Choice& choice) {
  return name_of(choice.form) + (choice.size == GemvBlocks::kSmall ? ", small blocks" : "") +
         (choice.start == Start::kEarly ? kEarlySuffix : "");
}

Choice named(std::string_view name) {
  for (const Choice& choice : choices()) {
    if (name_of(choice) == name) return choice;
  }
  throw Error("no variant " + in_quotes(std::string(name)) + " of this kernel");
}

/// Enough threads to hold a row at once, where a block has as many.
unsigned team_threads(std::size_t row_bytes, GemvForm form, unsigned of_block) {
  const std::size_t in_thread = kVectorBytes * static_cast<std::size_t>(form.vectors);
  const std::size_t wanted = std::min<std::size_t>(of_block, (row_bytes + in_thread - 1) / in_thread);
  return std::max(kWarp, std::bit_ceil(static_cast<unsigned>(wanted)));
}

/// As many bytes in flight as registers hold; fewer rows at once where a team has but few in all.
Choice fitting(std::size_t outputs, std::size_t row_bytes, unsigned processors) {
  const std::size_t in_block =
      row_bytes / (kVectorBytes * kLarge);  // vectors of a thread, if all share a row
  const GemvForm most = in_block >= 4 ? GemvForm{4, 2} : in_block >= 2 ? GemvForm{2, 4} : GemvForm{1, 4};
  for (const GemvForm form : {most, GemvForm{1, 2}}) {
    const std::size_t teams = std::size_t{processors} * (kLarge / team_threads(row_bytes, form, kLarge));
    if (outputs >= 2 * teams * static_cast<std::size_t>(form.rows)) return {form};
  }
  return {{1, 1}};
}

GemvPlan planned(std::size_t outputs, std::size_t row_bytes, unsigned processors, Choice choice) {
  constexpr std::size_t kWaves = 4;  // of small blocks
  GemvPlan plan;
  plan.aligned = row_bytes % kVectorBytes == 0;
  plan.form = plan.aligned ? choice.form : kUnalignedForm;
  plan.size = choice.size;
  plan.start = choice.start;
  plan.team_threads = team_threads(row_bytes, plan.form, plan.threads());
  const std::size_t in_turn = std::size_t{processors} * (kLarge / plan.threads());
  plan.blocks =
      static_cast<unsigned>(std::min(outputs, plan.size == GemvBlocks::kSmall ? kWaves * in_turn : in_turn));
  return plan;
}

}  // namespace

std::string name_of(GemvForm form) {
  return fmt::format("{} row{}, {} vector{}", form.rows, form.rows == 1 ? "" : "s", form.vectors,
                     form.vectors == 1 ? "" : "s");
}

std::string GemvPlan::name() const {
  return name_of(Choice{form, size, start});
}

std::vector<std::string> gemv_variants() {
  std::vector<std::string> names;
  for (const Choice& choice : choices()) names.push_back(name_of(choice));
  return names;
}

GemvPlan gemv_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors,
                   std::string_view variant) {
  return planned(outputs, row_bytes, processors,
                 variant.empty() ? fitting(outputs, row_bytes, processors) : named(variant));
}

GemvPlan linear_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors) {
  return planned(outputs, row_bytes, processors, {kLinearForm});
}

}  // namespace headroom::cuda
