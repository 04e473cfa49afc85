// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom_torch/tensors/libtorch.h"

#if HEADROOM_TORCH_HAS_PACKAGES
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#endif

namespace headroom::torch_runner {

/// Arguments or results of an AOTInductor package; a tensor is a leaf.
class CallSpec {
 public:
  /// Parses torch.utils._pytree.treespec_dumps: [1, {"type": "builtins.tuple", "context": "null",
  /// "children_spec": [...]}], where a leaf has type null. Throws Error.
  explicit CallSpec(const std::string& text);

  std::size_t size() const { return size_; }

  /// A tensor for a single leaf, else nested tuples (also for lists and dictionaries); one flat tuple if the
  /// number of leaves differs.
  c10::IValue arranged(const std::vector<at::Tensor>& leaves) const;

 private:
  Json tree_;
  std::size_t size_;
};

#if HEADROOM_TORCH_HAS_PACKAGES

class PackagedModule {
 public:
  using Inputs = std::vector<at::Tensor>;
  using Results = std::vector<at::Tensor>;
  static constexpr const char* kKind = "AOTInductor";

  /// Throws libtorch's exception if the file is no package, Error if it does not take `inputs` tensors.
  PackagedModule(const std::string& path, std::size_t inputs);

  static Inputs bind(const std::vector<at::Tensor>& tensors) { return tensors; }
  Results operator()(const Inputs& inputs) { return loader_->run(inputs); }
  /// As the module's source returned them.
  c10::IValue value_of(const Results& results) const;

  /// Throws if dtypes or shapes are not those compiled for, on which the code would read out of bounds. Loads
  /// the package a second time, temporarily.
  void require(const Inputs& inputs) const;

 private:
  std::string path_;
  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
  std::optional<CallSpec> results_;
};

#endif

/// In evaluation mode, on the CPU.
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
  /// Does nothing: operators check their operands.
  static void require(const Inputs&) {}

 private:
  torch::jit::Module module_;
  torch::jit::Method forward_;  ///< a look-up by name costs as much as a small operator
};

#if HEADROOM_TORCH_HAS_PACKAGES
using LoadedModule = std::variant<ScriptModule, PackagedModule>;
#else
using LoadedModule = std::variant<ScriptModule>;
#endif

/// Throws Error if this libtorch cannot read the file or it does not take `inputs` tensors.
LoadedModule load_module(const std::string& path, std::size_t inputs);

/// The numbers of all tensors of a module's output.
struct Answer {
  std::vector<double> values;
  Tolerance tolerance;  ///< of the coarsest dtype
  std::string shapes;   ///< "f32[1,1000]", "(f32[2], i64[2])"
};

/// Collects tensors through tuples, lists and dictionaries.
Answer answer_of(const c10::IValue& value);

std::optional<std::size_t> first_nan(const Answer& answer);

/// Relative to the larger of value and root mean square; infinite if only one is NaN or shapes differ.
double largest_difference(const Answer& answer, const Answer& expected);

/// Registry::TakeArguments: parses "--module FILE" and "--input SPEC" (tensor_spec.h), each any number of
/// times. Adds the experiment "module" with a backend per module, named after its file. Throws Error.
void register_modules(Registry& registry, const std::vector<std::string>& arguments);

}  // namespace headroom::torch_runner
