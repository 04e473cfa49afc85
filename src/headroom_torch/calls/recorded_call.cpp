// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/recorded_call.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "headroom/trace/recording/kineto_file.h"
#include "headroom_torch/calls/op_listener.h"

namespace headroom::torch_runner {
namespace {

/// Lists that are longer are left out, as Kineto does.
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

/// "Concrete Inputs": the text of a value, nothing of a tensor.
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

/// Sizes, or strides, of an argument; of a list one list for each of its tensors.
Json numbers_of(const RecordedArgument& argument, std::vector<std::int64_t> TensorShape::*numbers) {
  if (const auto* shape = std::get_if<TensorShape>(&argument)) return shape->*numbers;
  Json list = Json::array();
  if (const auto* shapes = std::get_if<std::vector<TensorShape>>(&argument)) {
    for (const TensorShape& shape : *shapes) list.push_back(shape.*numbers);
  }
  return list;
}

/// The arguments of operators, by Kineto's names.
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

}  // namespace

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

}  // namespace headroom::torch_runner
