// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/process/channel.h"
#include "headroom/ranks/rank_environment.h"

namespace headroom::torch_runner {

/// Greets over the channel as the rank of `place`, and answers what headroom/runner/rank_hello.h and
/// protocol.h describe until it closes.
void serve_rank(Channel channel, const RankPlace& place);

}  // namespace headroom::torch_runner
