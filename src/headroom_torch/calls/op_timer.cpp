// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/op_timer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "headroom/base/error.h"
#include "headroom/stats/quantile.h"

namespace headroom::torch_runner {

using torch::jit::Stack;
void time_op(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack);

namespace {

using Clock = std::chrono::steady_clock;

/// Reserved by libtorch for test modes.
constexpr auto kModeKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// The dispatcher calls a plain function.
OpTimer*& current_timer() {
  static thread_local OpTimer* timer = nullptr;
  return timer;
}

void register_mode() {
  static const c10::RegistrationHandleRAII kRegistration = [] {
    try {
      return c10::Dispatcher::singleton().registerFallback(
          kModeKey, c10::KernelFunction::makeFromBoxedFunction<&time_op>(), "headroom op timer");
    } catch (const c10::Error& error) {
      throw Error(
          fmt::format("cannot time operators: another library of this process uses the dispatch key {}; load "
                      "only one of them ({})",
                      c10::toString(kModeKey), error.what_without_backtrace()));
    }
  }();
}

/// True if the operator writes to an argument or draws random numbers.
bool runs_once(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  if (schema.is_mutable() || op.hasTag(at::Tag::nondeterministic_seeded)) return true;
  return std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
    return argument.type()->str().find("Generator") != std::string::npos;
  });
}

void append_sizes(const c10::IValue& value, std::string& text) {
  if (value.isTensor() && value.toTensor().defined()) {
    text += fmt::format("{}[{}]", text.empty() ? "" : " ", fmt::join(value.toTensor().sizes(), ","));
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) append_sizes(tensor, text);
  }
}

std::string name_of(const c10::OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

}  // namespace

void time_op(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  OpTimer* const timer = current_timer();
  // The parts of composite operators arrive separately; a thread may inherit the key without a timer.
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) || timer == nullptr) {
    op.redispatchBoxed(keys.remove(kModeKey), stack);
    return;
  }
  const c10::impl::ExcludeDispatchKeyGuard unseen(kModeKey);
  timer->run(op, *stack);
}

OpTimer::OpTimer(std::size_t runs)
    : runs_(runs), outer_((register_mode(), std::exchange(current_timer(), this))), seen_(kModeKey) {}

OpTimer::~OpTimer() {
  current_timer() = outer_;
}

void OpTimer::run(const c10::OperatorHandle& op, Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  const std::size_t runs = runs_once(op) ? 1 : std::max<std::size_t>(runs_, 1);
  const Stack arguments(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
  stack.resize(stack.size() - count);
  std::string sizes;
  for (const c10::IValue& argument : arguments) append_sizes(argument, sizes);

  std::vector<double> elapsed_ns(runs);
  Stack work;
  for (double& elapsed : elapsed_ns) {
    work = arguments;  // frees the previous results, untimed
    const auto begin = Clock::now();
    op.callBoxed(work);
    elapsed = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }
  for (c10::IValue& result : work) stack.push_back(std::move(result));
  OpTimes& times = times_[{name_of(op), sizes}];
  times.first_ns.push_back(elapsed_ns.front());
  if (runs > 1) times.repeat_ns.push_back(median(std::span(elapsed_ns).subspan(1)));
}

}  // namespace headroom::torch_runner
