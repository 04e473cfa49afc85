// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

namespace headroom::torch_runner::dtensor {

using Tensors = std::vector<at::Tensor>;

/// A computation that must give the same on distributed tensors as on plain ones.
struct RuleCase {
  std::string name;
  Tensors inputs;  // whole
  std::function<Tensors(const Tensors&)> run;
  bool exact = true;           // whole numbers in, whole numbers out: no rounding
  bool differentiable = true;  // in the inputs of floating type
  bool writes = false;         // into input 0: what it cannot do in its placement it must refuse
};

/// One for each rule, and each way in which its operators differ.
std::vector<RuleCase> rule_cases();

}  // namespace headroom::torch_runner::dtensor
