// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/json.h"

namespace headroom {

/// Whether a rank says in its answer that it takes no part: {"idle": true}.
inline bool is_idle(const Json& answer) {
  return answer.is_object() && answer.contains("idle");
}

}  // namespace headroom
