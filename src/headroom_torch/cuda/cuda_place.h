// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/experiment.h"
#include "headroom_torch/tensors/place.h"

namespace headroom::torch_runner {

/// `run` on the first GPU of CUDA_VISIBLE_DEVICES: its tensors lie there, ATen's operators go into the
/// device's one stream, and samples are timed on the device (measure_on_device). A case for which the device
/// has not memory enough is skipped; throws Error with what ATen says where it fails otherwise.
Experiment::Function on_cuda(PlacedExperiment run);

}  // namespace headroom::torch_runner
