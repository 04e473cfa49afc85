// SPDX-License-Identifier: Apache-2.0
// c10d's reducer.hpp includes this header of libtorch, which Debian's libtorch-dev leaves out. Declared here
// is the little that it names: an alias, and a pointer that stays empty without RPC.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace torch::distributed::autograd {

class DistAutogradContext {
 public:
  using GradCallback = std::function<bool(at::Tensor&)>;
};
using ContextPtr = std::shared_ptr<DistAutogradContext>;

}  // namespace torch::distributed::autograd
