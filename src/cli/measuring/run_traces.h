// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/plan.h"

namespace headroom::cli {

/// Asked before measuring. Throws Error where no runner of `groups` can record its cases, or `folder` cannot
/// be written to.
void require_traces(const std::string& folder, const std::vector<Group>& groups,
                    const std::vector<RunnerOffer>& offers);

/// Says on standard error where the traces are, and which cases have none, and why.
void report_traces(const std::string& folder, const std::vector<Record>& records);

/// Appends to the records of a run, for each case whose trace has work of a GPU, what PyTorch's
/// benchmark_utilization answers: "gpu_utilization" and "mm_conv_utilization", shares of the time that the
/// traced iterations take without the recorder, by the samples of "latency" (one value for each sample, and
/// for the median). Answers with a line for each trace that could not be read.
std::vector<std::string> append_utilization(std::vector<Record>& records);

}  // namespace headroom::cli
