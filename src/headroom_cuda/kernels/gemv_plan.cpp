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
constexpr unsigned kWarp = 32, kBlock = 512;

GemvForm named(std::string_view name) {
  for (const GemvForm form : kGemvForms) {
    if (name_of(form) == name) return form;
  }
  throw Error("no variant " + in_quotes(std::string(name)) + " of this kernel");
}

/// Enough threads to hold a row at once, where a block has as many.
unsigned team_threads(std::size_t row_bytes, GemvForm form) {
  const std::size_t in_thread = kVectorBytes * static_cast<std::size_t>(form.vectors);
  const std::size_t wanted = std::min<std::size_t>(kBlock, (row_bytes + in_thread - 1) / in_thread);
  return std::max(kWarp, std::bit_ceil(static_cast<unsigned>(wanted)));
}

/// As many bytes in flight as registers hold; fewer rows at once where a team has but few in all.
GemvForm fitting(std::size_t outputs, std::size_t row_bytes, unsigned processors) {
  const std::size_t in_block =
      row_bytes / (kVectorBytes * kBlock);  // vectors of a thread, if all share a row
  const GemvForm most = in_block >= 4 ? GemvForm{4, 2} : in_block >= 2 ? GemvForm{2, 4} : GemvForm{1, 4};
  for (const GemvForm form : {most, GemvForm{1, 2}}) {
    const std::size_t teams = std::size_t{processors} * (kBlock / team_threads(row_bytes, form));
    if (outputs >= 2 * teams * static_cast<std::size_t>(form.rows)) return form;
  }
  return {1, 1};
}

GemvPlan planned(std::size_t outputs, std::size_t row_bytes, unsigned processors, GemvForm form) {
  GemvPlan plan;
  plan.aligned = row_bytes % kVectorBytes == 0;
  plan.form = plan.aligned ? form : kUnalignedForm;
  plan.team_threads = team_threads(row_bytes, plan.form);
  plan.blocks = static_cast<unsigned>(std::min<std::size_t>(processors, outputs));
  return plan;
}

}  // namespace

std::string name_of(GemvForm form) {
  return fmt::format("{} row{}, {} vector{}", form.rows, form.rows == 1 ? "" : "s", form.vectors,
                     form.vectors == 1 ? "" : "s");
}

std::string GemvPlan::name() const {
  return name_of(form);
}

std::vector<std::string> gemv_variants() {
  std::vector<std::string> names;
  for (const GemvForm form : kGemvForms) names.push_back(name_of(form));
  return names;
}

GemvPlan gemv_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors,
                   std::string_view variant) {
  return planned(outputs, row_bytes, processors,
                 variant.empty() ? fitting(outputs, row_bytes, processors) : named(variant));
}

GemvPlan linear_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors) {
  return planned(outputs, row_bytes, processors, kLinearForm);
}

}  // namespace headroom::cuda
