// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "headroom/experiment/state.h"
#include "headroom/experiment/sum_tolerance.h"

namespace headroom::torch_runner {

/// Where the tensors of a case are, and by which clock the calls on them are timed.
struct Place {
  /// Puts the work of one iteration on input copy `copy` into the device's stream.
  using Call = std::function<void(std::size_t copy)>;

  c10::Device device{c10::kCPU};
  /// Gives samples of `call`, by a clock of the device, until the case is released. Empty: the host does the
  /// work itself, and State::measure times it.
  std::function<void(State& state, const Call& call)> measure{};
};

/// An experiment that runs where it is told.
using PlacedExperiment = void (*)(State& state, const Place& place);

/// Whether the backend of `state` ("aten_out", "aten_cuda_out") writes into outputs that were made before;
/// the others have each call make its outputs anew.
inline bool writes_in_place(const State& state) {
  return std::string_view(state.backend()).ends_with("_out");
}

/// What products may be off at `place` whose sums are added in `precision`, `terms` and `results` as for
/// tolerance_of_sums, where `exact` is for sums in f32 that are rounded once. On CUDA, with PyTorch's
/// settings (allow_bf16_reduced_precision_reduction), cuBLAS may add the parts of a sum that it has split as
/// bf16, with a rounding of up to 2^-8 for each; never its terms.
inline Tolerance product_tolerance(Tolerance exact, const Place& place, Precision precision,
                                   std::initializer_list<std::size_t> terms, std::size_t results) {
  if (place.device.is_cpu()) return tolerance_of_sums(exact, precision, terms, results);
  exact.relative = std::max(exact.relative, 4 * 0x1p-8);
  exact.sums_in = precision;
  return exact;
}

}  // namespace headroom::torch_runner
