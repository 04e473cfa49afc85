// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "headroom/runner/dispatch_protocol.h"
#include "headroom_torch/rank_service.h"

namespace headroom::torch_runner {

/// The operators that can be measured.
std::vector<RankHello::Op> dispatch_ops();

/// Answers what `headroom dispatch` asks: "dispatch", "cycles", "steps", "calls".
std::unique_ptr<RankPart> dispatch_service(const RankContext& context);

}  // namespace headroom::torch_runner
