// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/kernel_type.h"

namespace headroom::trace {
namespace {

/// A question about a name, answered once for each.
class NameAnswers {
 public:
  NameAnswers(const Trace& trace, bool (*question)(std::string_view))
      : names_(trace.names), question_(question), answers_(trace.names.size(), kUnasked) {}
  bool operator()(NameId name) {
    if (name == kNoName) return question_("");
    std::uint8_t& answer = answers_[name];
    if (answer == kUnasked) answer = question_(names_[name]) ? 1 : 0;
    return answer == 1;
  }

 private:
  static constexpr std::uint8_t kUnasked = 2;
  const Names& names_;
  bool (*question_)(std::string_view);
  std::vector<std::uint8_t> answers_;
};

}  // namespace

std::vector<bool> matmul_or_convolution(const Trace& trace) {
  const Events& events = trace.events;
  const std::vector<std::uint32_t> parent =
      parents(trace, mask_of(Category::kCpuOp),
              mask_of(Category::kCpuOp) | mask_of(Category::kRuntime) | mask_of(Category::kDriver));
  const std::vector<std::uint32_t> op = launching_ops(trace, parent);
  NameAnswers kernel_says(trace, is_matmul_or_convolution_kernel),
      op_says(trace, is_matmul_or_convolution_op), is_generic(trace, is_generic_kernel);
  std::vector<std::uint8_t> chain_says(events.size(), 0);  // whether the op, or one above it, multiplies
  for (const std::uint32_t of : nesting_order(trace, mask_of(Category::kCpuOp)))
    chain_says[of] = op_says(events.name[of]) || (parent[of] != kNone && chain_says[parent[of]] != 0);
  std::vector<bool> rows(trace.gpu.size(), false);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    if (events.category[event] != Category::kKernel) continue;
    const NameId name = events.name[event];
    const bool is_of_op = op[row] != kNone && chain_says[op[row]] != 0;
    rows[row] = is_of_op ? !is_generic(name) : kernel_says(name);
  }
  return rows;
}

std::vector<bool> matmul_or_convolution_by_name(const Trace& trace) {
  NameAnswers kernel_says(trace, is_matmul_or_convolution_kernel);
  std::vector<bool> rows(trace.gpu.size(), false);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    rows[row] = trace.events.category[event] == Category::kKernel && kernel_says(trace.events.name[event]);
  }
  return rows;
}

}  // namespace headroom::trace
