// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/ranks/ddp/ddp_plan.h"
#include "headroom/record/record.h"

namespace headroom {

/// The experiment that trains a model: "ddp.resnet18".
inline constexpr const char* kDdpPrefix = "ddp.";

/// The records of training as case_records() gives them, in the words of PyTorch's benchmark, with the
/// iterations of every rank as the samples of a process.
///
/// In s: "latency" (the headline), its parts "forward", "backward", "wait" and "step"; where ranks reduce
/// also "without reduction", "exposed communication" (the difference of the two in the same round) and
/// "communication" (while any bucket was on its way). "overlap" is the share of it that the backward pass
/// hides, "throughput" the examples a second of all ranks together. In us, since the backward pass began:
/// "bucket 0 launched", "bucket 0 completed", with "bytes" and "tensors" in extra_info. The ratio of a case
/// is its time over that without DDP in the same rounds. `steps` are those of the plan.
std::vector<Record> ddp_records(std::vector<Record> records, const std::vector<DdpStep>& steps);

}  // namespace headroom
