// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"
#include "headroom_torch/ranks/rank_context.h"

namespace headroom::torch_runner {

/// An experiment for each collective, over the axes bytes, ranks (the first of the world; the others take no
/// part) and dtype. `context` must outlive the registry; its world is asked for once a case is prepared.
void add_collectives(Registry& registry, RankContext& context);

}  // namespace headroom::torch_runner
