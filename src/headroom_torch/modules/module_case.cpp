// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/modules/module_case.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_torch/calls/flop_counter.h"
#include "headroom_torch/modules/answer.h"
#include "headroom_torch/tensors/failure_text.h"
#include "headroom_torch/tensors/random_tensor.h"
#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

/// Inputs that are smaller would be copied millions of times to leave the caches, and no call notices them
/// there.
constexpr double kLeastBytes = 65536;

std::vector<at::Tensor> random_inputs(const std::vector<TensorSpec>& specs, std::uint64_t seed) {
  std::vector<at::Tensor> inputs;
  for (const TensorSpec& spec : specs) inputs.push_back(random_tensor(spec, seed + inputs.size()));
  return inputs;
}

/// The inputs of each call in turn, as the program takes them.
template <typename Program>
std::vector<typename Program::Inputs> rotated(State& state, const std::vector<TensorSpec>& specs,
                                              const std::vector<at::Tensor>& first) {
  double bytes = 0;
  for (const TensorSpec& spec : specs) bytes += spec.bytes();
  const std::size_t copies = state.rotate(static_cast<std::size_t>(std::max(bytes, kLeastBytes)));
  state.require_memory(static_cast<std::size_t>(bytes) * copies);
  std::vector<typename Program::Inputs> rotation{Program::bind(first)};
  while (rotation.size() < copies) {
    std::vector<at::Tensor> copy;
    for (const at::Tensor& tensor : first) copy.push_back(tensor.clone());
    rotation.push_back(Program::bind(copy));
  }
  return rotation;
}

/// Calls `call`; what libtorch throws becomes a sentence.
template <typename Call>
auto understandable(const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error("the module threw: " + failure_text(error));
  }
}

/// Three answers that agree, of which `first` is one.
void verify(State& state, const Answer& first, const std::function<Answer()>& again) {
  if (const auto index = first_nan(first)) {
    state.wrong_answer(fmt::format("the module answers NaN at index {} of {} for inputs that have none",
                                   *index, first.values.size()));
  }
  Answer last;
  for (int run = 2; run <= 3; ++run) {
    last = again();
    const double difference = largest_difference(last, first);
    if (difference <= first.tolerance.relative) continue;
    return state.wrong_answer(
        fmt::format("run {} answers otherwise than run 1 on the same inputs: {} and {}, largest difference "
                    "{:.2g} (tolerance {:.2g}); "
                    "a module that is random, or changes its inputs or itself, cannot be checked",
                    run, last.shapes, first.shapes, difference, first.tolerance.relative));
  }
  std::vector<double> output(first.values.size());
  state.verify([&] { output = last.values; }, std::span(output), first.values, first.tolerance);
}

void describe(State& state, const OfferedModules& offered, const OfferedModule& module, const char* kind) {
  for (std::size_t i = 0; i < offered.inputs.size(); ++i) {
    const TensorSpec& spec = offered.inputs[i];
    const bool is_float = spec.dtype.find('f') != std::string::npos;
    state.input(std::to_string(i), to_string(spec) + (is_float ? " normal(0,1)" : " uniform"));
  }
  state.note("module", module.path);
  state.note("module_bytes", std::to_string(std::filesystem::file_size(module.path)));
  state.note("module_kind", kind);
  state.note("libtorch", kTorchVersion);
  state.note("torch_threads", std::to_string(at::get_num_threads()));
}

/// The first dimension of the first input is the batch, as everywhere in PyTorch's own modules.
double batch_of(const std::vector<TensorSpec>& inputs) {
  if (inputs.empty() || inputs.front().sizes.size() < 2) return 1;
  return static_cast<double>(inputs.front().sizes.front());
}

void report(State& state, const FlopCount& count, const Answer& answer,
            const std::vector<TensorSpec>& inputs) {
  // Of operands of several dtypes no one peak is the limit.
  state.work({.flops = count.flops, .dtype = count.dtypes.size() == 1 ? *count.dtypes.begin() : ""});
  state.rate("throughput", batch_of(inputs), "samples/s");
  state.note("output", answer.shapes);
  if (!count.counted.empty()) state.note("flops_counted", calls_text(count.counted));
  if (!count.not_counted.empty()) state.note("flops_not_counted", calls_text(count.not_counted));
}

template <typename Program>
Answer answer_to(Program& program, const typename Program::Inputs& inputs) {
  return answer_of(program.value_of(program(inputs)));
}

/// How the answer stands to that of the first module: modules that are compared should do the same.
std::string difference_text(OfferedModule& first, const std::vector<at::Tensor>& inputs,
                            const Answer& answer) {
  try {
    const Answer expected = std::visit(
        [&](auto& program) {
          const auto bound = program.bind(inputs);
          program.require(bound);
          return answer_to(program, bound);
        },
        first.program);
    if (answer.shapes != expected.shapes) return "other shapes: " + expected.shapes;
    return fmt::format("{:.3g}", largest_difference(answer, expected));
  } catch (const std::exception& error) {
    return "it threw: " + failure_text(error);
  }
}

template <typename Program>
void measure_program(State& state, OfferedModules& offered, const OfferedModule& module, Program& program) {
  const std::vector<at::Tensor> inputs = random_inputs(offered.inputs, state.seed());
  const auto rotation = rotated<Program>(state, offered.inputs, inputs);
  understandable([&] { program.require(rotation.front()); });
  const auto answer = [&] { return understandable([&] { return answer_to(program, rotation.front()); }); };
  typename Program::Results results;
  const FlopCount count =
      count_flops([&] { results = understandable([&] { return program(rotation.front()); }); });
  const Answer first = answer_of(program.value_of(results));
  describe(state, offered, module, Program::kKind);
  report(state, count, first, offered.inputs);
  verify(state, first, answer);
  OfferedModule& baseline = offered.modules.front();
  if (&baseline != &module)
    state.note("difference_to_" + baseline.name, difference_text(baseline, inputs, first));
  state.measure([&](std::size_t copy) { program(rotation[copy]); });
}

}  // namespace

void measure_module(State& state, OfferedModules& offered) {
  use_threads_of(state);
  const at::NoGradGuard no_grad;
  const auto module = std::ranges::find(offered.modules, state.backend(), &OfferedModule::name);
  if (module == offered.modules.end()) throw Error("there is no module " + state.backend());
  std::visit([&](auto& program) { measure_program(state, offered, *module, program); }, module->program);
}

}  // namespace headroom::torch_runner
