// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/experiment/axis.h"

namespace headroom::cli {

class OptionTable;

/// --layers, --prompt-len and --max-new-tokens: gpt-fast's names for axes of the models; 0: not given.
struct ModelOptions {
  std::int64_t layers = 0, prompt_len = 0, max_new_tokens = 0;
};

void declare_model_options(OptionTable& table, ModelOptions& options);

/// Those that were given, as what was asked of the axes.
std::vector<AxisRequest> axis_requests(const ModelOptions& options);

}  // namespace headroom::cli
