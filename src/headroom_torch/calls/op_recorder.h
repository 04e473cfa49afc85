// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headroom/base/json.h"
#include "headroom_trace/recording/recorder.h"

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

/// What stays of a tensor: holding the tensor itself would change what a program does with its memory.
struct TensorShape {
  std::string type;  ///< "float", "c10::BFloat16": as Kineto names it
  std::vector<std::int64_t> sizes, strides;
};

/// An argument of an operator: none, a tensor, a list of them, or any other value.
using RecordedArgument = std::variant<std::monostate, TensorShape, std::vector<TensorShape>, c10::IValue>;

/// One call of an operator, or a range with a name.
struct RecordedCall {
  std::string name;
  bool is_range = false;
  std::int64_t start_ns = 0, duration_ns = 0;  ///< on the steady clock
  std::int64_t thread = 0;                     ///< the kernel's number of it
  std::int64_t sequence = -1;                  ///< joins forward and backward; -1: none
  std::uint64_t forward_thread = 0;            ///< of a backward call; 0: none
  std::uint64_t record_function = 0;
  std::vector<RecordedArgument> arguments;
};

/// Everything of `call` but its times; only while it begins.
RecordedCall recorded(const at::RecordFunction& call);

/// The event of Kineto for `call`: microseconds since `base_ns`; `index` numbers the events of a trace from
/// 0.
Json kineto_event(const RecordedCall& call, std::int64_t base_ns, std::int64_t process, std::size_t index);

/// Whose trace it is.
struct TraceSource {
  std::string backend;  ///< of the process group; empty without one
  int rank = 0, ranks = 1;
};

/// A collective that a process group ran on threads of its own. Kineto's form knows such only as kernels of a
/// device's stream, which is what it becomes, so that analyses find it.
struct RecordedCollective {
  std::string name;   ///< "all_reduce"
  std::string dtype;  ///< "Float"
  std::int64_t elements = 0;
  std::int64_t start_ns = 0, duration_ns = 0;  ///< on the steady clock
};

/// Records every operator that a thread calls, with the shapes of its arguments, as a trace in Kineto's form:
/// for `headroom trace`, Perfetto, and whatever reads PyTorch's. What lies between start() and stop() is its
/// step 0, or with next_step() between them several. start() and stop() are called on the thread that is
/// recorded; what autograd and torch.jit.fork do for it on others is recorded too.
class OpRecorder final : public trace::Recorder, private OpListener {
 public:
  /// The trace goes to `file`, packed where its name ends in .gz or .zst.
  explicit OpRecorder(std::filesystem::path file, TraceSource source = {})
      : file_(std::move(file)), source_(std::move(source)) {}

  /// Throws Error where it records already.
  void start() override;
  /// Writes the file, whole or not at all, and answers with its path. Throws Error.
  trace::Recording stop() override;

  /// A step ends, another begins.
  void next_step();
  /// To be written beside the operators.
  void add(RecordedCollective collective) { collectives_.push_back(std::move(collective)); }

 private:
  struct OpenCall;

  std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) override;
  void end(const at::RecordFunction& call, at::ObserverContext* context) override;
  void add_steps(std::int64_t stopped_ns);
  Json collective_event(const RecordedCollective& collective, std::size_t index) const;
  void write() const;
  trace::KinetoHead head() const;

  std::filesystem::path file_;
  TraceSource source_;
  std::optional<Listening> listening_;
  trace::ClockReading started_;
  std::mutex mutex_;
  std::vector<RecordedCall> calls_;
  std::vector<std::int64_t> step_starts_ns_;
  std::vector<RecordedCollective> collectives_;
};

}  // namespace headroom::torch_runner
