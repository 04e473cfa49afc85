// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "headroom/runner/rank_hello.h"
#include "headroom_torch/rank_service.h"

namespace headroom::torch_runner {

/// The models that can be trained.
std::vector<RankHello::Model> ddp_models();

/// Answers what headroom/runner/ddp_protocol.h describes.
std::unique_ptr<RankPart> ddp_service(const RankContext& context);

}  // namespace headroom::torch_runner
