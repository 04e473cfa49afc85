// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headroom/trace/recording/kineto_file.h"
#include "headroom/trace/recording/recorder.h"
#include "headroom/trace/recording/recording_clock.h"
#include "headroom_torch/calls/op_listener.h"
#include "headroom_torch/calls/recorded_call.h"

namespace headroom::torch_runner {

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
