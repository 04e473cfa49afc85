// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom_torch/ddp/model.h"

namespace headroom::torch_runner {

/// Stochastic gradient descent with momentum, as torch.optim.SGD defines it, with the settings of PyTorch's
/// DDP benchmark; on the CPU one pass over parameter, gradient and momentum. The parameters stay on the
/// device where they are now.
class Sgd {
 public:
  struct Settings {
    float rate = 0.001F, momentum = 0.9F, weight_decay = 1e-4F;
    bool by_operators = false;  ///< on the CPU too, where one pass of ours is faster
  };

  Sgd(std::vector<Parameter> parameters, Settings settings);

  /// Parameters without a gradient are left as they are.
  void step();
  /// The same reads, arithmetic and writes as a step, after which everything is as before: for iterations
  /// whose time is of interest, and whose gradients are not.
  void idle_step();

 private:
  struct Coefficients {
    float rate, momentum, gradient, weight_decay;
  };
  void apply(const Coefficients& by);
  /// For the CPU: each number is read once.
  void apply_in_one_pass(const Coefficients& by);
  /// For any device: one operator for all tensors at a time.
  void apply_by_operators(const Coefficients& by);

  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> momentum_;
  Settings settings_;
};

}  // namespace headroom::torch_runner
