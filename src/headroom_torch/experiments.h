// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "headroom/experiment/registry.h"
#include "headroom/workload/gpt_fast_workloads.h"

namespace headroom::torch_runner {

struct Place;  // main.cpp does not include libtorch's headers

/// Backends: "aten", eager, with new outputs in each call; "aten_out", preallocated. Arguments may name
/// modules (modules.h).
void register_torch_experiments(Registry& registry);

/// gpt-fast's, without backends. `at` binds each to a place.
SeedExperiments placed_experiments(
    const std::function<Experiment::Function(void (*)(State&, const Place&))>& at);

}  // namespace headroom::torch_runner
