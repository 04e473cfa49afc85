// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "headroom_torch/rank_service.h"

namespace headroom::torch_runner {

/// Answers what headroom/runner/collectives_protocol.h describes.
std::unique_ptr<RankPart> collectives_service(const RankContext& context);

}  // namespace headroom::torch_runner
