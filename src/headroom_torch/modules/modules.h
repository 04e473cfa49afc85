// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace headroom::torch_runner {

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
