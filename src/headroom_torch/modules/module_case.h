// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/experiment/tensor_spec.h"
#include "headroom_torch/modules/module_file.h"

namespace headroom::torch_runner {

struct OfferedModule {
  std::string name;  ///< the backend that it is
  std::string path;
  LoadedModule program;
};

struct OfferedModules {
  std::vector<OfferedModule> modules;
  std::vector<TensorSpec> inputs;
};

/// Measures the module that is the state's backend. Before: it must answer without NaN, and three times the
/// same (a module that TorchScript compiles is by then compiled); its FLOPs are counted in the first call,
/// before it is. Cold means the inputs: they rotate through copies, the weights lie where they lie. Throws
/// Error and WrongAnswer.
void measure_module(State& state, OfferedModules& offered);

}  // namespace headroom::torch_runner
