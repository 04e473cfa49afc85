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

/// The tree of arguments, or of results, that an AOTInductor package was compiled for. A tensor is a leaf.
class CallSpec {
 public:
  /// `text` is what torch.utils._pytree.treespec_dumps writes, [1, {"type": "builtins.tuple", "context":
  /// "null", "children_spec": [...]}], where the type of a leaf is null. Throws Error where it is something
  /// else.
  explicit CallSpec(const std::string& text);

  /// Number of leaves.
  std::size_t size() const { return size_; }

  /// The leaves, in their order, in their places: a tensor where the tree is one leaf, else a tuple of what
  /// its children are (also of a list or a dictionary). Of more or fewer leaves than the tree has, one flat
  /// tuple.
  c10::IValue arranged(const std::vector<at::Tensor>& leaves) const;

 private:
  Json tree_;
  std::size_t size_;
};

#if HEADROOM_TORCH_HAS_PACKAGES

/// A module that AOTInductor has compiled: code for one set of dtypes and shapes, or of ranges of shapes.
class PackagedModule {
 public:
  using Inputs = std::vector<at::Tensor>;
  using Results = std::vector<at::Tensor>;
  static constexpr const char* kKind = "AOTInductor";

  /// Throws what libtorch throws where the file is no package for it, or Error where the package does not
  /// take `inputs` tensors.
  PackagedModule(const std::string& path, std::size_t inputs);

  static Inputs bind(const std::vector<at::Tensor>& tensors) { return tensors; }
  Results operator()(const Inputs& inputs) { return loader_->run(inputs); }
  /// The results as the module's source returned them.
  c10::IValue value_of(const Results& results) const;

  /// Throws where the inputs are of other dtypes or shapes than the package was compiled for. Called without
  /// this, its code reads what lies beside them. Loads the package a second time, and lets go of that.
  void require(const Inputs& inputs) const;

 private:
  std::string path_;
  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
  std::optional<CallSpec> results_;
};

#endif

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

/// What a module answered: the numbers of all tensors in it, one after the other.
struct Answer {
  std::vector<double> values;
  Tolerance tolerance;  ///< of the coarsest dtype among them
  std::string shapes;   ///< "f32[1,1000]", "(f32[2], i64[2])"
};

/// The tensors in `value`, through tuples, lists and dictionaries.
Answer answer_of(const c10::IValue& value);

/// Index of the first NaN.
std::optional<std::size_t> first_nan(const Answer& answer);

/// The largest difference of two answers of the same shapes, as a share of the larger of the value and the
/// root mean square of all; infinite where only one is NaN.
double largest_difference(const Answer& answer, const Answer& expected);

/// Registry::TakeArguments: "--module FILE" and "--input SPEC" (tensor_spec.h), each any number of times.
/// Adds the experiment "module", whose backends are the modules, by the names of their files; all are called
/// with the same inputs. Throws Error.
void offer_modules(Registry& registry, const std::vector<std::string>& arguments);

}  // namespace headroom::torch_runner
