// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cuda {
namespace {

constexpr std::size_t kVectorBytes = 16;
constexpr unsigned kWarp = 32, kLarge = 512;

struct GemvChoice {
  GemvForm form;
  GemvBlocks size = GemvBlocks::kLarge;
  Start start = Start::kAfterPrevious;
};

/// Small blocks, for large matrices, only with the most loads in flight.
const std::vector<GemvChoice>& gemv_choices() {
  static const std::vector<GemvChoice> all = [] {
    std::vector<GemvChoice> made;
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

std::string name_of(const GemvChoice& choice) {
  return name_of(choice.form) + (choice.size == GemvBlocks::kSmall ? ", small blocks" : "") +
         (choice.start == Start::kEarly ? kEarlySuffix : "");
}

template <typename Choice>
Choice named(std::string_view name, const std::vector<Choice>& choices) {
  for (const Choice& choice : choices) {
    if (name_of(choice) == name) return choice;
  }
  throw Error("no variant " + quote(std::string(name)) + " of this kernel");
}

unsigned team_threads(std::size_t row_bytes, GemvForm form, unsigned of_block) {
  const std::size_t in_thread = kVectorBytes * static_cast<std::size_t>(form.vectors);
  const std::size_t wanted = std::min<std::size_t>(of_block, (row_bytes + in_thread - 1) / in_thread);
  return std::max(kWarp, std::bit_ceil(static_cast<unsigned>(wanted)));
}

/// Returns the form with most loads in flight that leaves two batches per team.
GemvChoice fitting(std::size_t outputs, std::size_t row_bytes, unsigned processors) {
  const std::size_t in_block =
      row_bytes / (kVectorBytes * kLarge);  // vectors of a thread if the whole block shares a row
  const GemvForm most = in_block >= 4 ? GemvForm{4, 2} : in_block >= 2 ? GemvForm{2, 4} : GemvForm{1, 4};
  for (const GemvForm form : {most, GemvForm{1, 2}}) {
    const std::size_t teams = std::size_t{processors} * (kLarge / team_threads(row_bytes, form, kLarge));
    if (outputs >= 2 * teams * static_cast<std::size_t>(form.rows)) return {form};
  }
  return {{1, 1}};
}

GemvPlan planned(std::size_t outputs, std::size_t row_bytes, unsigned processors, GemvChoice choice) {
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

constexpr std::size_t kLength = 8;    // of a vector
constexpr unsigned kMostBlocks = 32;  // per multiprocessor

struct NormChoice {
  NormForm form;
  Start start = Start::kAfterPrevious;
};

/// Unaligned rows load unwritten memory only: no early start.
const std::vector<NormChoice>& norm_choices() {
  static const std::vector<NormChoice> all = [] {
    std::vector<NormChoice> made;
    for (const Start start : {Start::kAfterPrevious, Start::kEarly}) {
      for (const NormForm& form : kNormForms) made.push_back({form, start});
    }
    return made;
  }();
  return all;
}

std::string name_of(const NormChoice& choice) {
  if (choice.form.vectors == 0) return "long rows";
  return std::to_string(choice.form.vectors) + (choice.form.vectors == 1 ? " vector" : " vectors") +
         (choice.start == Start::kEarly ? kEarlySuffix : "");
}

bool holds(const NormForm& form, std::size_t columns) {
  return columns <= kLength * form.threads * static_cast<std::size_t>(form.vectors);
}

template <typename Choice>
std::vector<std::string> names_of(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (const Choice& choice : choices) names.push_back(name_of(choice));
  return names;
}

/// Returns the form with most vectors in flight that holds the row.
NormForm fitting(std::size_t columns) {
  const bool aligned = columns % kLength == 0;
  if (aligned && holds(kNormForms[2], columns)) return kNormForms[2];
  return holds(kNormForms[1], columns) ? kNormForms[1] : kLongNormForm;
}

}  // namespace

std::string name_of(GemvForm form) {
  return fmt::format("{} row{}, {} vector{}", form.rows, form.rows == 1 ? "" : "s", form.vectors,
                     form.vectors == 1 ? "" : "s");
}

std::string GemvPlan::name() const {
  return name_of(GemvChoice{form, size, start});
}

std::vector<std::string> gemv_variants() {
  return names_of(gemv_choices());
}

GemvPlan gemv_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors,
                   std::string_view variant) {
  return planned(outputs, row_bytes, processors,
                 variant.empty() ? fitting(outputs, row_bytes, processors) : named(variant, gemv_choices()));
}

GemvPlan linear_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors) {
  return planned(outputs, row_bytes, processors, {kLinearForm});
}

std::string NormPlan::name() const {
  return name_of(NormChoice{form, start});
}

std::vector<std::string> norm_variants() {
  return names_of(norm_choices());
}

NormPlan norm_plan(std::size_t rows, std::size_t columns, unsigned processors, std::string_view variant) {
  NormPlan plan;
  plan.aligned = columns % kLength == 0;
  const NormChoice choice = variant.empty() ? NormChoice{fitting(columns)} : named(variant, norm_choices());
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

std::size_t StreamPlan::shared_bytes(std::size_t rows, std::size_t columns) const {
  constexpr std::size_t kOfUnit = 32, kValueBytes = 2;
  const std::size_t groups = rows / kStreamGroup;
  const std::size_t rows_of_block = kStreamGroup * ((groups + blocks() - 1) / blocks());
  return depth * kOfUnit * threads + kValueBytes * columns +
         rows_of_block * (warps_of_team() + 1) * sizeof(float);
}

std::string StreamPlan::name() const {
  return fmt::format("{} block{} of {}, {} team{}, {} deep{}{}", blocks_each, blocks_each == 1 ? "" : "s",
                     threads, teams, teams == 1 ? "" : "s", depth, start == Start::kEarly ? kEarlySuffix : "",
                     late ? ", lets go late" : "");
}

std::vector<StreamPlan> stream_plans(unsigned processors, bool starts_early) {
  std::vector<StreamPlan> plans;
  for (const auto& [threads, blocks] : {std::pair{512U, 1U}, {256U, 2U}}) {
    for (const unsigned depth : kStreamDepths) {
      if (blocks > 1 && depth == kShallowStream) continue;
      for (const unsigned teams : {1U, 2U}) {
        StreamPlan plan;
        plan.threads = threads;
        plan.blocks_each = blocks;
        plan.teams = teams;
        plan.depth = depth;
        plan.start = starts_early ? Start::kEarly : Start::kAfterPrevious;
        plan.processors = processors;
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

}  // namespace headroom::cuda
