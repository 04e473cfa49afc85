// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/op_recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/file_writer.h"
#include "headroom_torch/compat.h"

namespace headroom::torch_runner {
namespace {

/// Where collectives stand: kernels need a device and a stream.
constexpr int kDevice = 0, kStream = 1;

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Json name_event(const char* what, std::int64_t process, std::int64_t thread, const std::string& name) {
  return {{"ph", "M"},     {"name", what}, {"pid", process},
          {"tid", thread}, {"ts", 0},      {"args", {{"name", name}}}};
}

}  // namespace

struct OpRecorder::OpenCall final : at::ObserverContext {
  RecordedCall call;
};

void OpRecorder::start() {
  if (listening_) throw Error("the recorder of " + file_.string() + " was started twice");
  calls_.clear();
  collectives_.clear();
  started_at_unix_ns_ = unix_ns();
  started_ns_ = steady_ns();
  step_starts_ns_ = {started_ns_};
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
    step.name = fmt::format("ProfilerStep#{}", i);
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

Json OpRecorder::head() const {
  return {{"schemaVersion", 1},
          {"deviceProperties", Json::array()},
          {"record_shapes", 1},
          {"distributedInfo",
           {{"backend", source_.backend}, {"rank", source_.rank}, {"world_size", source_.ranks}}},
          {"displayTimeUnit", "ms"},
          {"baseTimeNanoseconds", started_at_unix_ns_},
          {"traceName", file_.string()},
          {"recorded_by", fmt::format("headroom-torch, libtorch {}", kTorchVersion)}};
}

Json OpRecorder::collective_event(const RecordedCollective& collective, std::size_t index) const {
  std::string ranks;
  for (int rank = 0; rank < source_.ranks; ++rank) ranks += (rank == 0 ? "" : ", ") + std::to_string(rank);
  return {{"ph", "X"},
          {"cat", "kernel"},
          {"name", source_.backend + "_" + collective.name},
          {"pid", kDevice},
          {"tid", kStream},
          {"ts", static_cast<double>(collective.start_ns - started_ns_) / 1e3},
          {"dur", static_cast<double>(collective.duration_ns) / 1e3},
          {"args",
           {{"device", kDevice},
            {"stream", kStream},
            {"correlation", index},
            {"Collective name", collective.name},
            {"In msg nelems", collective.elements},
            {"Out msg nelems", collective.elements},
            {"Group size", source_.ranks},
            {"dtype", collective.dtype},
            {"Process Group Name", "0"},
            {"Process Group Ranks", "[" + ranks + "]"}}}};
}

void OpRecorder::write() const {
  const std::int64_t process = getpid();
  FileWriter writer(file_);
  // The events follow the other members, as in Kineto's files: a tool that looks for the rank reads no
  // further.
  std::string text = dump_json(head());
  text.back() = ',';
  writer.write(text + "\n\"traceEvents\":[\n" +
               dump_json(name_event("process_name", process, 0, "headroom-torch")));
  std::set<std::int64_t> threads;
  for (const RecordedCall& call : calls_) threads.insert(call.thread);
  for (const std::int64_t thread : threads) {
    writer.write(",\n" +
                 dump_json(name_event("thread_name", process, thread, "thread " + std::to_string(thread))));
  }
  std::size_t index = 0;
  for (const RecordedCall& call : calls_) {
    writer.write(",\n" + dump_json(kineto_event(call, started_ns_, process, index++)));
  }
  for (const RecordedCollective& collective : collectives_) {
    writer.write(",\n" + dump_json(collective_event(collective, index++)));
  }
  writer.write("\n]}\n");
  writer.finish();
}

void trace_call(const std::string& file, const std::function<void()>& run) {
  OpRecorder recorder(file);
  recorder.start();
  run();
  recorder.stop();
}

}  // namespace headroom::torch_runner
