// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/llm_work.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "headroom/workload/llm_weights.h"
#include "headroom_native/llm/matrix_products.h"

namespace headroom::native {
namespace {

/// Operations of another kind than all others that change no bound by more than other things do.
constexpr double kFewOperations = 0.05;

double wanted_logits(const LlmShape& shape) {
  return shape.wanted == LlmLogits::kAll ? shape.rows() : static_cast<double>(shape.sequences);
}

/// Experts that some tokens choose together, each by itself at random.
double expected_experts(const LlmConfig& config, double rows) {
  const auto experts = static_cast<double>(config.experts);
  return experts * (1 - std::pow(1 - static_cast<double>(config.chosen) / experts, rows));
}

/// Operations of matrices that are multiplied as integers.
double integer_operations(const LlmConfig& config, const LlmShape& shape, Isa isa) {
  const double rows = shape.rows(), passes = std::ceil(rows / static_cast<double>(kLlmRowsAtOnce));
  const double chosen = rows * static_cast<double>(config.chosen), logits = wanted_logits(shape);
  const auto dim = static_cast<double>(config.dim), hidden = static_cast<double>(config.hidden);
  double sum = 0;
  // `times` in all; `at_once` of them when the matrix is taken up.
  const auto add = [&](LlmFormat format, double numbers, double times, double at_once) {
    const auto vectors = static_cast<std::size_t>(std::max(1.0, std::round(at_once)));
    if (std::string_view(dtype_of_products(format, vectors, isa)) == "int8") sum += 2 * numbers * times;
  };
  const std::size_t different = std::max<std::size_t>(config.formats.size(), 1);
  const double alike = static_cast<double>(config.layers) / static_cast<double>(different);
  const double together = rows / passes, of_expert = config.is_gated()
                                                         ? together * static_cast<double>(config.chosen) /
                                                               expected_experts(config, together)
                                                         : together;
  for (std::size_t layer = 0; layer < different; ++layer) {
    const LlmLayerFormats formats = config.formats_of(layer);
    add(formats.qkv, alike * dim * dim, rows, together);
    for (const LlmFormat format : {formats.key, formats.value})
      add(format, alike * static_cast<double>(config.kv_dim()) * dim, rows, together);
    add(formats.out, alike * dim * dim, rows, together);
    add(formats.up, alike * 2 * hidden * dim, chosen, of_expert);
    add(formats.down, alike * hidden * dim, chosen, of_expert);
    const double shared = alike * static_cast<double>(config.shared_hidden) * dim;
    add(formats.shared_up, 2 * shared, rows, together);
    add(formats.shared_down, shared, rows, together);
  }
  add(config.output_format(), static_cast<double>(config.vocab) * dim, logits, logits / passes);
  return sum;
}

}  // namespace

Work llm_work(const LlmConfig& config, const LlmShape& shape, Isa isa) {
  const double rows = shape.rows(), layers = static_cast<double>(config.layers);
  const double output = static_cast<double>(config.vocab) * static_cast<double>(config.dim);
  LlmConfig one = config, two = config;
  one.chosen = 1;
  two.chosen = 2;
  const LlmActivated chosen = llm_activated(config), single = llm_activated(one);
  const double expert = config.is_gated() ? llm_activated(two).bytes - single.bytes : 0;
  // A token attends to all before it and to itself.
  const double tokens = static_cast<double>(shape.tokens), context = static_cast<double>(shape.context);
  const double pairs = static_cast<double>(shape.sequences) * (tokens * context + tokens * (tokens + 1) / 2);
  const double position = 2 * layers * static_cast<double>(config.kv_dim() * sizeof(Bf16));
  Work work;
  work.flops = 2 * (chosen.parameters - output) * rows + 2 * output * wanted_logits(shape) +
               4 * layers * static_cast<double>(config.dim) * pairs;
  work.bytes_written = position * rows;
  work.bytes = single.bytes + (config.is_gated() ? expected_experts(config, rows) - 1 : 0) * expert +
               position * context * static_cast<double>(shape.sequences) + work.bytes_written;
  const bool is_integer = integer_operations(config, shape, isa) > kFewOperations * work.flops;
  work.dtype = is_integer ? "int8" : "bf16";
  return work;
}

}  // namespace headroom::native
