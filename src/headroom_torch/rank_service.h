// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "headroom/base/json.h"
#include "headroom/process/channel.h"
#include "headroom/process/rank_environment.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// What the parts of a rank share. The world is there once the ranks have met.
struct RankContext {
  RankPlace place;
  dtensor::WorldPtr world;
};

/// What one command asks of a rank. Parts are asked only after the ranks have met.
class RankPart {
 public:
  virtual ~RankPart() = default;
  /// Whether a request with {"do": what} is for this part.
  virtual bool takes(const std::string& what) const = 0;
  /// An exception becomes {"error": its text}.
  virtual Json answer(const std::string& what, const Json& request) = 0;
};

/// Greets over the channel as the rank of `place`, and answers what headroom/runner/rank_hello.h,
/// protocol.h and ddp_protocol.h describe until it closes.
void serve_rank(Channel channel, const RankPlace& place);

}  // namespace headroom::torch_runner
