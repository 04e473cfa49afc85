// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/op_listener.h"

#include <utility>

namespace headroom::torch_runner {
namespace {

/// Callbacks are plain functions: the listener is found through what libtorch hands from thread to thread.
/// The place is that of programs; the profiler's own would be taken for a profiler.
auto place() {
  return c10::DebugInfoKind::PRODUCER_INFO;
}

struct ListenerInfo final : c10::DebugInfoBase {
  explicit ListenerInfo(OpListener& told) : listener(told) {}
  OpListener& listener;
};

OpListener* listener_here() {
  auto* const info = dynamic_cast<ListenerInfo*>(c10::ThreadLocalDebugInfo::get(place()));
  return info == nullptr ? nullptr : &info->listener;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) {
  OpListener* const listener = listener_here();
  return listener == nullptr ? nullptr : listener->begin(call);
}

void end(const at::RecordFunction& call, at::ObserverContext* context) {
  OpListener* const listener = listener_here();
  if (listener != nullptr && context != nullptr) listener->end(call, context);
}

}  // namespace

Listening::Listening(OpListener& listener)
    : guard_(place(), std::make_shared<ListenerInfo>(listener)),
      callback_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(begin, end)
              .needsInputs(true)
              .needsIds(true)
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                       at::RecordScope::USER_SCOPE}))) {}

Listening::~Listening() {
  at::removeCallback(callback_);
}

c10::ArrayRef<const c10::IValue> arguments_of(const at::RecordFunction& call) {
  const auto inputs = call.inputs();
  const std::size_t count = call.num_inputs();
  return count < inputs.size() ? inputs.slice(inputs.size() - count, count) : inputs;
}

}  // namespace headroom::torch_runner
