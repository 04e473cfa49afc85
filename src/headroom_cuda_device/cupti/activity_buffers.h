// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <functional>

namespace headroom::cuda {

/// Takes the records that CUPTI hands over, on threads of CUPTI's own; calls do not overlap.
using TakeRecord = std::function<void(const CUpti_Activity& record)>;

/// While it lives, CUPTI's buffers are ours and their records go to `take`. One at a time in a process, for
/// CUPTI has one set of callbacks; a second throws Error.
class ActivityBuffers {
 public:
  explicit ActivityBuffers(TakeRecord take);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  /// Records that found no room since the last call, or buffers that could not be read.
  static std::size_t take_dropped();
};

}  // namespace headroom::cuda
