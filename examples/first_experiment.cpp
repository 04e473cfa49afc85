// SPDX-License-Identifier: Apache-2.0
// A minimal experiment: a function, its work, a check of its result, and the body to time.
#include <cmath>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/random.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace {

void square_root(headroom::State& state) {
  constexpr std::size_t kCount = 1 << 16;
  headroom::Buffer input(kCount * sizeof(float)), output(kCount * sizeof(float));
  const auto x = input.as<float>();
  const auto y = output.as<float>();
  headroom::fill_random(x, state.seed());
  for (float& value : x) value = std::fabs(value);

  state.work({.bytes = 2.0 * kCount * sizeof(float), .bytes_written = kCount * sizeof(float)});
  const auto body = [&] {
    for (std::size_t i = 0; i < kCount; ++i) y[i] = std::sqrt(x[i]);
    headroom::keep_memory();
  };

  std::vector<double> expected(kCount);
  for (std::size_t i = 0; i < kCount; ++i) expected[i] = std::sqrt(static_cast<double>(x[i]));
  state.verify(body, y, expected, {.relative = 1e-6});

  state.measure(body);
}
HEADROOM_EXPERIMENT(square_root).summary("square roots of 65,536 floats");

}  // namespace
