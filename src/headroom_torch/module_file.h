// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "headroom_torch/compat.h"

#if HEADROOM_TORCH_HAS_PACKAGES
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#endif

namespace headroom::torch_runner {

/// A module of TorchScript, in evaluation mode, on the CPU.
class ScriptModule {
 public:
  using Inputs = std::vector<c10::IValue>;
  static constexpr const char* kKind = "TorchScript";

  explicit ScriptModule(torch::jit::Module module)
      : module_(std::move(module)), forward_(module_.get_method("forward")) {}

  static Inputs bind(const std::vector<at::Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }
  c10::IValue operator()(const Inputs& inputs) { return forward_(inputs); }

 private:
  torch::jit::Module module_;
  torch::jit::Method forward_;  ///< looked up once: a look-up by name costs as much as a small operator
};

#if HEADROOM_TORCH_HAS_PACKAGES
/// A module that AOTInductor has compiled.
class PackagedModule {
 public:
  using Inputs = std::vector<at::Tensor>;
  static constexpr const char* kKind = "AOTInductor";

  explicit PackagedModule(const std::string& path)
      : loader_(std::make_unique<torch::inductor::AOTIModelPackageLoader>(path)) {}

  static Inputs bind(const std::vector<at::Tensor>& tensors) { return tensors; }
  /// The loader gives a list also of the one tensor that a module returned.
  c10::IValue operator()(const Inputs& inputs) {
    std::vector<at::Tensor> results = loader_->run(inputs);
    return results.size() == 1 ? c10::IValue(std::move(results.front())) : c10::IValue(std::move(results));
  }

 private:
  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
};
using LoadedModule = std::variant<ScriptModule, PackagedModule>;
#else
using LoadedModule = std::variant<ScriptModule>;
#endif

/// Reads a module from a file. Throws Error: not a module that this libtorch reads, a package where it has no
/// loader for them, or a module whose forward() does not take `inputs` tensors.
LoadedModule load_module(const std::string& path, std::size_t inputs);

}  // namespace headroom::torch_runner
