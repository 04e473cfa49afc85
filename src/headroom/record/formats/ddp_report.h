// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// The report of PyTorch's benchmark of distributed data parallel training (read): one record for each model,
/// batch size and rank count; one process for each rank where the measurements divide among the ranks.
Format ddp_report_format();

}  // namespace headroom
