// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headroom/trace/recorder.h"
#include "headroom_torch/op_listener.h"
#include "headroom_torch/recorded_call.h"

namespace headroom::torch_runner {

/// Records every operator that a thread calls, with the shapes of its arguments, as a trace in Kineto's form:
/// for `headroom trace`, Perfetto, and whatever reads PyTorch's. What lies between start() and stop() is its
/// step 0. start() and stop() are called on the thread that is recorded; what autograd and torch.jit.fork do
/// for it on others is recorded too.
class OpRecorder final : public trace::Recorder, private OpListener {
 public:
  /// The trace goes to `file`, packed where its name ends in .gz or .zst.
  explicit OpRecorder(std::filesystem::path file) : file_(std::move(file)) {}

  /// Throws Error where it records already.
  void start() override;
  /// Writes the file, whole or not at all, and answers with its path. Throws Error.
  trace::Recording stop() override;

 private:
  struct OpenCall;

  std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) override;
  void end(const at::RecordFunction& call, at::ObserverContext* context) override;
  void write() const;
  Json head() const;

  std::filesystem::path file_;
  std::optional<Listening> listening_;
  std::int64_t started_ns_ = 0;          ///< on the steady clock
  std::int64_t started_at_unix_ns_ = 0;  ///< the same moment
  std::mutex mutex_;
  std::vector<RecordedCall> calls_;
};

/// Registry::Tracer: one call of a case as a trace. What `run` throws comes through, and nothing is written.
void trace_call(const std::string& file, const std::function<void()>& run);

}  // namespace headroom::torch_runner
