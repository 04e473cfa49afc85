// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_model_options.h"

#include <limits>
#include <string>

#include "cli/shared/option_table.h"

namespace headroom::cli {

void declare_model_options(OptionTable& table, ModelOptions& options) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  table.add_option("--layers", options.layers, "layers of a model (the same as -a layers=N)").range(1, kMost);
  table.add_option("--prompt-len", options.prompt_len, "tokens of its prompt (-a prompt_len=N)")
      .range(1, kMost);
  table
      .add_option("--max-new-tokens", options.max_new_tokens,
                  "tokens of a generation, after which the next begins (-a max_new_tokens=N)")
      .range(1, kMost);
}

std::vector<AxisRequest> axis_requests(const ModelOptions& options) {
  std::vector<AxisRequest> requests;
  const auto add = [&](const char* axis, std::int64_t value) {
    if (value > 0) requests.push_back({axis, {std::to_string(value)}});
  };
  add("layers", options.layers);
  add("prompt_len", options.prompt_len);
  add("max_new_tokens", options.max_new_tokens);
  return requests;
}

}  // namespace headroom::cli
