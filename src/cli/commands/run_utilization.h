// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::cli {

/// Appends to the records of a run, for each case whose trace has work of a GPU, what PyTorch's
/// benchmark_utilization answers: "gpu_utilization" and "mm_conv_utilization", shares of the time that the
/// traced iterations take without the recorder, by the samples of "latency" (one value for each sample, and
/// for the median). Answers with a line for each trace that could not be read.
std::vector<std::string> append_utilization(std::vector<Record>& records);

}  // namespace headroom::cli
