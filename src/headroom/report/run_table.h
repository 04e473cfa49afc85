// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/base/table.h"
#include "headroom/record/record.h"

namespace headroom {

/// What `headroom run` prints: a row for each case and backend with the median time and its interval, the
/// headline metric, the share of the limit, target and verdict, and noise marks. The latency record and the
/// headline record of a case are one row. A case that was skipped or failed shows its reason on the line
/// below; so does one that was timed though its answer is wrong, and one that sums in less than f32, with its
/// error and what is allowed. Where a case was traced on a GPU, two columns more say which share of the time
/// GPUs worked, and worked on products and convolutions. Where the latency record holds a ratio to another
/// row of the case (Record::ratio), the line below shows that.
Table run_table(const std::vector<Record>& records);

/// What the noise marks and the columns of GPUs of run_table(records) mean; empty where there are none.
std::string run_legend(const std::vector<Record>& records);

/// The mean over the shapes per experiment, backend and dtype, as PyTorch's gpt-fast benchmark reports it.
Table mean_table(const std::vector<Record>& records);

}  // namespace headroom
