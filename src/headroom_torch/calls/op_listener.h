// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <memory>

namespace headroom::torch_runner {

/// Is told of operators (and of the ranges that a program names with record_function): calls on several
/// threads may overlap.
class OpListener {
 public:
  virtual ~OpListener() = default;
  /// The call begins, on this thread. end() gets what this returns.
  virtual std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) = 0;
  virtual void end(const at::RecordFunction& call, at::ObserverContext* context) = 0;
};

/// While it lives, `listener` is told of what this thread calls, and what autograd and torch.jit.fork call
/// for it on others. Made and destroyed on the same thread, in the order of a stack.
class Listening {
 public:
  explicit Listening(OpListener& listener);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  c10::DebugInfoGuard guard_;
  at::CallbackHandle callback_;
};

/// The arguments of a call; valid in begin() alone. Not RecordFunction::inputs(): a call from TorchScript has
/// the interpreter's whole stack there, with the arguments at its end.
c10::ArrayRef<const c10::IValue> arguments_of(const at::RecordFunction& call);

}  // namespace headroom::torch_runner
