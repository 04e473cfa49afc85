// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/flop_counter.h"

#include <ATen/ATen.h>
#include <ATen/core/function_schema.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom_torch/calls/flop_formulas.h"
#include "headroom_torch/calls/op_listener.h"

namespace headroom::torch_runner {
namespace {

constexpr std::size_t kShownOps = 8;

std::string dtype_name(at::ScalarType type) {
  if (type == at::kFloat) return "f32";
  if (type == at::kBFloat16) return "bf16";
  if (type == at::kDouble) return "f64";
  if (type == at::kHalf) return "f16";
  return at::toString(type);
}

/// Operators that move, make or fill tensors; "aten::_to_copy" and "aten::new_empty" are some, too.
constexpr std::array<std::string_view, 7> kMovers{"empty", "resize", "copy",    "clone",
                                                  "fill_", "zero_",  "resolve_"};

bool has_tensor(c10::ArrayRef<const c10::IValue> arguments) {
  return std::ranges::any_of(
      arguments, [](const c10::IValue& argument) { return argument.isTensor() || argument.isTensorList(); });
}

/// Whether the operator only moves, makes or views tensors.
bool moves_only(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  const auto is_in_name = [&](std::string_view mover) { return name.find(mover) != std::string_view::npos; };
  if (std::ranges::any_of(kMovers, is_in_name)) return true;
  const auto schema = call.operator_schema();
  return schema && std::ranges::any_of(schema->returns(), [](const c10::Argument& result) {
           return result.alias_info() != nullptr && !result.alias_info()->isWrite();
         });
}

class FlopCounter final : public OpListener {
 public:
  std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) override {
    auto made = std::make_unique<Call>();
    if (call.scope() != at::RecordScope::FUNCTION) return made;
    const std::lock_guard lock(mutex_);
    std::vector<Call*>& open = open_[call.threadId()];
    Call* const parent = open.empty() ? nullptr : open.back();
    made->is_op = true;
    made->takes_tensors = has_tensor(arguments_of(call));
    made->is_part = parent != nullptr && (parent->is_part || parent->is_counted);
    if (!made->is_part) count(call, *made);
    open.push_back(made.get());
    return made;
  }

  void end(const at::RecordFunction& call, at::ObserverContext* context) override {
    auto& ended = static_cast<Call&>(*context);
    if (!ended.is_op) return;
    const std::lock_guard lock(mutex_);
    std::vector<Call*>& open = open_[call.threadId()];
    std::erase(open, &ended);
    const bool is_whole = ended.is_counted || ended.has_parts;
    if (!is_whole && (!ended.takes_tensors || moves_only(call))) return;
    // What has parts that compute is told by them.
    if (!open.empty()) open.back()->has_parts = true;
    if (!is_whole && !ended.is_part) ++count_.not_counted[call.name()];
  }

  FlopCount take() { return std::move(count_); }

 private:
  struct Call final : at::ObserverContext {
    bool is_op = false;
    bool is_part = false;  ///< of a counted one
    bool is_counted = false;
    bool has_parts = false;  ///< that compute
    bool takes_tensors = false;
  };

  void count(const at::RecordFunction& call, Call& made) {
    const auto arguments = arguments_of(call);
    const auto flops = op_flops(call.name(), arguments);
    if (!flops) return;
    made.is_counted = true;
    count_.flops += *flops;
    ++count_.counted[call.name()];
    for (const c10::IValue& argument : arguments) {
      if (argument.isTensor() && argument.toTensor().defined()) {
        count_.dtypes.insert(dtype_name(argument.toTensor().scalar_type()));
      }
    }
  }

  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<Call*>> open_;  ///< by the thread that began them
  FlopCount count_;
};

}  // namespace

FlopCount count_flops(const std::function<void()>& run) {
  FlopCounter counter;
  {
    const Listening listening(counter);
    run();
  }
  return counter.take();
}

std::string calls_text(const std::map<std::string, std::int64_t>& calls) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : calls) {
    if (parts.size() == kShownOps) break;
    parts.push_back(count == 1 ? name : fmt::format("{} x{}", name, count));
  }
  std::string text = join(parts, ", ");
  if (calls.size() > kShownOps) text += fmt::format(" and {} more", calls.size() - kShownOps);
  return text;
}

}  // namespace headroom::torch_runner
