// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"

namespace headroom::torch_runner {

/// Adds every experiment of this folder. Backends of the seed's experiments: "aten", eager as the seed writes
/// them, outputs made anew by each call; "aten_out", the same operators into outputs made before. The command
/// line of the runner may name modules (modules.h), and every case can be recorded (op_recorder.h).
void register_torch_experiments(Registry& registry);

}  // namespace headroom::torch_runner
