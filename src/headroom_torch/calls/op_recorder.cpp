// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/op_recorder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {
namespace {

/// Slot of the listener, propagated between threads; PROFILER_STATE would look like a profiler.
auto place() {
  return c10::DebugInfoKind::PRODUCER_INFO;
}

struct ListenerInfo final : c10::DebugInfoBase {
  explicit ListenerInfo(OpListener& target) : listener(target) {}
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

/// Kineto omits longer lists.
constexpr std::size_t kMostInList = 30;

TensorShape shape_of(const at::Tensor& tensor) {
  TensorShape shape;
  if (!tensor.defined()) return shape;
  shape.type = std::string(tensor.dtype().name());
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return shape;
  shape.sizes = tensor.sizes().vec();
  if (tensor.layout() == at::kStrided) shape.strides = tensor.strides().vec();
  return shape;
}

RecordedArgument recorded(const c10::IValue& value) {
  if (value.isTensor()) return shape_of(value.toTensor());
  if (value.isTensorList()) {
    std::vector<TensorShape> shapes;
    for (const at::Tensor& tensor : value.toTensorVector()) shapes.push_back(shape_of(tensor));
    return shapes;
  }
  if (value.isScalar() || value.isString()) return value;
  if (value.isIntList() || value.isDoubleList() || value.isBoolList()) return value.deepcopy();
  return std::monostate{};
}

template <typename Values>
std::string list_text(const Values& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  }
  return text + "]";
}

/// Empty for a tensor.
std::string value_text(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return dump_json(value.toDouble());
  if (value.isString()) return value.toStringRef();
  if (value.isIntList() && value.toIntVector().size() <= kMostInList) return list_text(value.toIntVector());
  if (value.isDoubleList() && value.toDoubleVector().size() <= kMostInList)
    return list_text(value.toDoubleVector());
  return "";
}

std::string type_of(const RecordedArgument& argument) {
  if (const auto* shape = std::get_if<TensorShape>(&argument)) return shape->type;
  if (std::holds_alternative<std::vector<TensorShape>>(argument)) return "TensorList";
  const auto* value = std::get_if<c10::IValue>(&argument);
  if (value == nullptr) return "";
  if (value->isString()) return "String";
  return value->isScalar() ? "Scalar" : "ScalarList";
}

/// Sizes or strides; for a tensor list, one list per tensor.
Json numbers_of(const RecordedArgument& argument, std::vector<std::int64_t> TensorShape::*numbers) {
  if (const auto* shape = std::get_if<TensorShape>(&argument)) return shape->*numbers;
  Json list = Json::array();
  if (const auto* shapes = std::get_if<std::vector<TensorShape>>(&argument)) {
    for (const TensorShape& shape : *shapes) list.push_back(shape.*numbers);
  }
  return list;
}

void add_arguments(const RecordedCall& call, Json& to) {
  Json dims = Json::array(), strides = Json::array(), types = Json::array(), values = Json::array();
  for (const RecordedArgument& argument : call.arguments) {
    dims.push_back(numbers_of(argument, &TensorShape::sizes));
    strides.push_back(numbers_of(argument, &TensorShape::strides));
    types.push_back(type_of(argument));
    const auto* value = std::get_if<c10::IValue>(&argument);
    values.push_back(value == nullptr ? std::string() : value_text(*value));
  }
  to["Concrete Inputs"] = std::move(values);
  to["Input Dims"] = std::move(dims);
  to["Input Strides"] = std::move(strides);
  to["Input type"] = std::move(types);
}

/// Kineto's kernels need a device and a stream.
constexpr int kDevice = 0, kStream = 1;

std::int64_t steady_ns() {
  return trace::read_clocks().steady_ns;
}

}  // namespace

ListenerGuard::ListenerGuard(OpListener& listener)
    : guard_(place(), std::make_shared<ListenerInfo>(listener)),
      callback_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(begin, end)
              .needsInputs(true)
              .needsIds(true)
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                       at::RecordScope::USER_SCOPE}))) {}

ListenerGuard::~ListenerGuard() {
  at::removeCallback(callback_);
}

c10::ArrayRef<const c10::IValue> arguments_of(const at::RecordFunction& call) {
  const auto inputs = call.inputs();
  const std::size_t count = call.num_inputs();
  return count < inputs.size() ? inputs.slice(inputs.size() - count, count) : inputs;
}

RecordedCall recorded(const at::RecordFunction& call) {
  RecordedCall made;
  made.name = call.name();
  made.is_range = call.scope() == at::RecordScope::USER_SCOPE;
  made.thread = gettid();
  made.sequence = call.seqNr();
  made.forward_thread = call.forwardThreadId();
  made.record_function = call.handle();
  if (!made.is_range) {
    for (const c10::IValue& argument : arguments_of(call)) made.arguments.push_back(recorded(argument));
  }
  return made;
}

Json kineto_event(const RecordedCall& call, std::int64_t base_ns, std::int64_t process, std::size_t index) {
  Json arguments{{"External id", index + 1}, {"Record function id", call.record_function}, {"Ev Idx", index}};
  if (call.sequence >= 0) {
    arguments["Sequence number"] = call.sequence;
    arguments["Fwd thread id"] = call.forward_thread;
  }
  if (!call.arguments.empty()) add_arguments(call, arguments);
  return trace::complete_event(call.is_range ? "user_annotation" : "cpu_op", call.name,
                               {process, call.thread}, call.start_ns - base_ns, call.duration_ns,
                               std::move(arguments));
}

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
  // Enclosing calls first: readers nest by order.
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

trace::KinetoHeader OpRecorder::head() const {
  trace::KinetoHeader head;
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
