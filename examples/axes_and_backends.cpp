// SPDX-License-Identifier: Apache-2.0
// Two interleaved implementations over a range of sizes; the second's ratio to the first has an interval. Try
// `--backend lanes` or `-a n=1024-65536*4`. Without --hot, inputs rotate through more copies than the caches
// hold; the body takes the index of the copy.
#include <numeric>
#include <vector>

#include "headroom/experiment/random.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace {

float sum_in_order(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0F);
}

/// Eight partial sums avoid one chain of dependent additions.
float sum_in_lanes(const std::vector<float>& values) {
  float lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += values[i + lane];
  }
  for (; i < values.size(); ++i) lanes[0] += values[i];
  return std::accumulate(lanes, lanes + 8, 0.0F);
}

void sum(headroom::State& state) {
  const auto n = static_cast<std::size_t>(state.integer("n"));
  const std::size_t copies = state.rotate(n * sizeof(float));
  state.require_memory(copies * n * sizeof(float));
  std::vector<std::vector<float>> inputs(copies, std::vector<float>(n));
  for (auto& input : inputs) headroom::fill_random(std::span(input), state.seed());

  const auto sum_up = state.backend() == "lanes" ? sum_in_lanes : sum_in_order;
  float result = 0;
  const double expected = std::accumulate(inputs[0].begin(), inputs[0].end(), 0.0);
  // An absolute tolerance: rounding errors grow with the magnitude of the terms, not of the sum.
  state.verify([&] { result = sum_up(inputs[0]); }, std::span(&result, 1), std::span(&expected, 1),
               {.absolute = 1e-5 * static_cast<double>(n)});

  state.work({.flops = static_cast<double>(n), .bytes = static_cast<double>(n * sizeof(float))});
  state.measure([&](std::size_t copy) { headroom::keep(sum_up(inputs[copy])); });
}
HEADROOM_EXPERIMENT(sum).summary("sum of n floats").axis("n", {4096, 262144}).backends({"in-order", "lanes"});

}  // namespace
