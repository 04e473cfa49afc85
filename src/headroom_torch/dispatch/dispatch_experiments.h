// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"
#include "headroom_torch/ranks/rank_context.h"

namespace headroom::torch_runner {

/// An experiment for each operator of the panel ("dispatch.add"), over the axes of DispatchSetup. `context`
/// must outlive the registry; its world is asked for once a case is prepared. Where HEADROOM_DISPATCH_CALLS
/// is set, a case makes so many calls of each kind as soon as it is prepared, for who counts from outside.
void add_dispatch(Registry& registry, const RankContext& context);

}  // namespace headroom::torch_runner
