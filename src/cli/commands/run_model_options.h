// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/experiment/axis.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {

class OptionTable;

/// --layers, --prompt-len and --max-new-tokens: gpt-fast's names for axes of the models; 0: not given.
/// --model and what goes with it: decoding with a model of the user's.
struct ModelOptions {
  std::int64_t layers = 0, prompt_len = 0, max_new_tokens = 0;
  std::string model, tokens;
  std::string batch, context, draft;  ///< "1,8,64"
};

void declare_model_options(OptionTable& table, ModelOptions& options);

/// Those that were given, as what was asked of the axes. Throws Error.
std::vector<AxisRequest> axis_requests(const ModelOptions& options);

/// The arguments for a runner that reads models: the path in full, the ids of the prompt. Throws Error: a
/// file that is missing, ids without a model or that are no numbers.
std::vector<std::string> runner_arguments(const ModelOptions& options);

/// Makes "llm", or nothing, the experiments of the model. Throws Error where one of them is named without a
/// model, or a model beside other experiments.
void select_model(const ModelOptions& options, Selection& selection);

}  // namespace headroom::cli
