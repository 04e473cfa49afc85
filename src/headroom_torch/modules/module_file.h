// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <variant>
#include <vector>

#include "headroom_torch/modules/packaged_module.h"

namespace headroom::torch_runner {

/// A module of TorchScript, in evaluation mode, on the CPU.
class ScriptModule {
 public:
  using Inputs = std::vector<c10::IValue>;
  using Results = c10::IValue;
  static constexpr const char* kKind = "TorchScript";

  explicit ScriptModule(torch::jit::Module module)
      : module_(std::move(module)), forward_(module_.get_method("forward")) {}

  static Inputs bind(const std::vector<at::Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }
  Results operator()(const Inputs& inputs) { return forward_(inputs); }
  static c10::IValue value_of(const Results& results) { return results; }
  /// Nothing: operators look at their operands themselves.
  static void require(const Inputs&) {}

 private:
  torch::jit::Module module_;
  torch::jit::Method forward_;  ///< looked up once: a look-up by name costs as much as a small operator
};

#if HEADROOM_TORCH_HAS_PACKAGES
using LoadedModule = std::variant<ScriptModule, PackagedModule>;
#else
using LoadedModule = std::variant<ScriptModule>;
#endif

/// Reads a module from a file. Throws Error: not a module that this libtorch reads, a package where it has no
/// loader for them, or a module that does not take `inputs` tensors.
LoadedModule load_module(const std::string& path, std::size_t inputs);

}  // namespace headroom::torch_runner
