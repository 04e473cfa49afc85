// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "headroom/experiment/registry.h"
#include "headroom/workload/gpt_fast_workloads.h"

namespace headroom::torch_runner {

struct Place;  // tensors/tensors.h; main.cpp goes without libtorch's headers

/// Adds every experiment of this folder. Backends of the seed's experiments: "aten", eager as the seed writes
/// them, outputs made anew by each call; "aten_out", the same operators into outputs made before. The command
/// line of the runner may name modules (modules.h), and every case can be recorded (op_recorder.h).
void register_torch_experiments(Registry& registry);

/// The experiments of gpt-fast's benchmark in ATen's operators, without backends. `at` makes of each a
/// function of a case that runs at the place that `at` knows.
SeedExperiments placed_experiments(const std::function<Experiment::Function(void (*)(State&, const Place&))>& at);

}  // namespace headroom::torch_runner
