// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "headroom/base/json.h"

namespace headroom::torch_runner {

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

}  // namespace headroom::torch_runner
