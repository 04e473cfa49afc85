// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/op_recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_torch/tensors/compat.h"

namespace headroom::torch_runner {
namespace {

/// Where collectives stand: kernels need a device and a stream.
constexpr int kDevice = 0, kStream = 1;

std::int64_t steady_ns() {
  return trace::read_clocks().steady_ns;
}

}  // namespace

struct OpRecorder::OpenCall final : at::ObserverContext {
  RecordedCall call;
};

void OpRecorder::start() {
  if (listening_) throw Error("the recorder of " + file_.string() + " was started twice");
  calls_.clear();
  collectives_.clear();
  started_ = trace::read_clocks();
  step_starts_ns_ = {started_.steady_ns};
  listening_.emplace(static_cast<OpListener&>(*this));
}

trace::Recording OpRecorder::stop() {
  const std::int64_t stopped_ns = steady_ns();
  if (!listening_) throw Error("the recorder of " + file_.string() + " was stopped without a start");
  listening_.reset();
  add_steps(stopped_ns);
  // What encloses comes first: readers nest by the order of starts.
  std::ranges::stable_sort(calls_, [](const RecordedCall& a, const RecordedCall& b) {
    return std::pair(a.start_ns, -a.duration_ns) < std::pair(b.start_ns, -b.duration_ns);
  });
  write();
  return file_;
}

void OpRecorder::next_step() {
  step_starts_ns_.push_back(steady_ns());
}

void OpRecorder::add_steps(std::int64_t stopped_ns) {
  for (std::size_t i = 0; i < step_starts_ns_.size(); ++i) {
    RecordedCall step;
    step.name = trace::step_name(i);
    step.is_range = true;
    step.start_ns = step_starts_ns_[i];
    step.duration_ns = (i + 1 < step_starts_ns_.size() ? step_starts_ns_[i + 1] : stopped_ns) - step.start_ns;
    step.thread = gettid();
    calls_.push_back(std::move(step));
  }
}

std::unique_ptr<at::ObserverContext> OpRecorder::begin(const at::RecordFunction& call) {
  auto open = std::make_unique<OpenCall>();
  open->call = recorded(call);
  open->call.start_ns = steady_ns();
  return open;
}

void OpRecorder::end(const at::RecordFunction& /*call*/, at::ObserverContext* context) {
  const std::int64_t now = steady_ns();
  RecordedCall& call = static_cast<OpenCall&>(*context).call;
  call.duration_ns = now - call.start_ns;
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
}

trace::KinetoHead OpRecorder::head() const {
  trace::KinetoHead head;
  head.base_unix_ns = started_.unix_ns;
  head.recorded_by = fmt::format("headroom-torch, libtorch {}", kTorchVersion);
  head.further_members = {
      {"record_shapes", 1},
      {"distributedInfo",
       {{"backend", source_.backend}, {"rank", source_.rank}, {"world_size", source_.ranks}}}};
  return head;
}

Json OpRecorder::collective_event(const RecordedCollective& collective, std::size_t index) const {
  std::string ranks;
  for (int rank = 0; rank < source_.ranks; ++rank) ranks += (rank == 0 ? "" : ", ") + std::to_string(rank);
  return trace::complete_event("kernel", source_.backend + "_" + collective.name, {kDevice, kStream},
                               collective.start_ns - started_.steady_ns, collective.duration_ns,
                               {{"device", kDevice},
                                {"stream", kStream},
                                {"correlation", index},
                                {"Collective name", collective.name},
                                {"In msg nelems", collective.elements},
                                {"Out msg nelems", collective.elements},
                                {"Group size", source_.ranks},
                                {"dtype", collective.dtype},
                                {"Process Group Name", "0"},
                                {"Process Group Ranks", "[" + ranks + "]"}});
}

void OpRecorder::write() const {
  const std::int64_t process = getpid();
  trace::KinetoFile file(file_, head());
  file.name_process(process, "headroom-torch");
  std::set<std::int64_t> threads;
  for (const RecordedCall& call : calls_) threads.insert(call.thread);
  for (const std::int64_t thread : threads)
    file.name_thread(process, thread, "thread " + std::to_string(thread));
  std::size_t index = 0;
  for (const RecordedCall& call : calls_) file.add(kineto_event(call, started_.steady_ns, process, index++));
  for (const RecordedCollective& collective : collectives_) file.add(collective_event(collective, index++));
  file.finish();
}

}  // namespace headroom::torch_runner
