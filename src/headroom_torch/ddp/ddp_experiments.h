// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"
#include "headroom_torch/ranks/rank_context.h"

namespace headroom::torch_runner {

/// An experiment for each model that can be trained ("ddp.resnet18"), over the axes batch_size (of a rank),
/// image_size (pixels a side, where the model takes images), ranks (the first of the world; the others take
/// no part), ddp (yes, no), bucket_size (bytes) and transport; its backends are reducers of gradients. A
/// sample is an iteration with the reduction and one without it, in turn. `context` must outlive the
/// registry.
void add_ddp(Registry& registry, RankContext& context);

}  // namespace headroom::torch_runner
