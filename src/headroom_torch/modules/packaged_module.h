// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/tensors/compat.h"

#if HEADROOM_TORCH_HAS_PACKAGES
#include <ATen/core/ivalue.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom_torch/calls/call_spec.h"

namespace headroom::torch_runner {

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

}  // namespace headroom::torch_runner
#endif
