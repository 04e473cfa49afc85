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

/// Operator calls and record_function ranges; those of several threads may overlap.
class OpListener {
 public:
  virtual ~OpListener() = default;
  /// end() receives the returned context.
  virtual std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) = 0;
  virtual void end(const at::RecordFunction& call, at::ObserverContext* context) = 0;
};

/// Reports this thread's calls, and those that autograd and torch.jit.fork make for it elsewhere. Construct
/// and destroy on one thread, in stack order.
class ListenerGuard {
 public:
  explicit ListenerGuard(OpListener& listener);
  ~ListenerGuard();
  ListenerGuard(const ListenerGuard&) = delete;
  ListenerGuard& operator=(const ListenerGuard&) = delete;

 private:
  c10::DebugInfoGuard guard_;
  at::CallbackHandle callback_;
};

/// Valid only in begin(). For TorchScript, RecordFunction::inputs() is the interpreter's whole stack.
c10::ArrayRef<const c10::IValue> arguments_of(const at::RecordFunction& call);

/// Holding the tensor would change the program's memory use.
struct TensorShape {
  std::string type;  ///< Kineto's name: "float", "c10::BFloat16"
  std::vector<std::int64_t> sizes, strides;
};

using RecordedArgument = std::variant<std::monostate, TensorShape, std::vector<TensorShape>, c10::IValue>;

struct RecordedCall {
  std::string name;
  bool is_range = false;
  std::int64_t start_ns = 0, duration_ns = 0;  ///< steady clock
  std::int64_t thread = 0;                     ///< kernel thread ID
  std::int64_t sequence = -1;                  ///< joins forward and backward; -1 if absent
  std::uint64_t forward_thread = 0;            ///< of a backward call; 0 if absent
  std::uint64_t record_function = 0;
  std::vector<RecordedArgument> arguments;
};

/// All but the times. Valid only in begin().
RecordedCall recorded(const at::RecordFunction& call);

/// `base_ns` is the trace's time 0; `index` numbers its events.
Json kineto_event(const RecordedCall& call, std::int64_t base_ns, std::int64_t process, std::size_t index);

struct TraceSource {
  std::string backend;  ///< empty without a process group
  int rank = 0, ranks = 1;
};

/// A collective on a process group's own threads. Written as a device kernel, the only form that Kineto's
/// readers know.
struct RecordedCollective {
  std::string name;   ///< "all_reduce"
  std::string dtype;  ///< "Float"
  std::int64_t elements = 0;
  std::int64_t start_ns = 0, duration_ns = 0;  ///< steady clock
};

/// Records a thread's operator calls as a Kineto trace, with those that autograd and torch.jit.fork make for
/// it elsewhere. next_step() begins a step. Call start() and stop() on the recorded thread.
class OpRecorder final : public trace::Recorder, private OpListener {
 public:
  /// Compresses `file` if its name ends in .gz or .zst.
  explicit OpRecorder(std::filesystem::path file, TraceSource source = {})
      : file_(std::move(file)), source_(std::move(source)) {}

  /// Throws Error if already recording.
  void start() override;
  /// Writes the file atomically and returns its path. Throws Error.
  trace::Recording stop() override;

  void next_step();
  void add(RecordedCollective collective) { collectives_.push_back(std::move(collective)); }

 private:
  struct OpenCall;

  std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) override;
  void end(const at::RecordFunction& call, at::ObserverContext* context) override;
  void add_steps(std::int64_t stopped_ns);
  Json collective_event(const RecordedCollective& collective, std::size_t index) const;
  void write() const;
  trace::KinetoHeader head() const;

  std::filesystem::path file_;
  TraceSource source_;
  std::optional<ListenerGuard> listening_;
  trace::ClockReading started_;
  std::mutex mutex_;
  std::vector<RecordedCall> calls_;
  std::vector<std::int64_t> step_starts_ns_;
  std::vector<RecordedCollective> collectives_;
};

}  // namespace headroom::torch_runner
