// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace {

void scale(headroom::State& state) {
  const auto count = static_cast<std::size_t>(state.integer("count"));
  const std::vector<float> input(count, 1.5F);
  std::vector<float> output(count);
  const auto run = [&] {
    for (std::size_t i = 0; i < count; ++i) output[i] = 2.0F * input[i];
    headroom::keep_memory();
  };

  const auto size = static_cast<double>(count * sizeof(float));
  state.work({.flops = static_cast<double>(count), .bytes = 2 * size, .bytes_written = size, .dtype = "f32"});
  state.verify(run, output, std::vector<double>(count, 3.0), {});
  state.measure(run);
}
HEADROOM_EXPERIMENT(scale).summary("output = 2 input").axis("count", {4096, 65536});

template <typename T>
void measure_dot(headroom::State& state) {
  constexpr std::size_t kCount = 1000;
  const std::vector<T> left(kCount, T{2}), right(kCount, T{3});
  std::vector<T> result(1);
  const auto run = [&] {
    T sum = 0;
    for (std::size_t i = 0; i < kCount; ++i) sum += left[i] * right[i];
    result[0] = sum;
    headroom::keep_memory();
  };
  state.work({.flops = 2.0 * kCount, .bytes = 2.0 * kCount * sizeof(T)});
  state.verify(run, result, std::vector<double>{6.0 * kCount}, {});
  state.measure(run);
}

void dot(headroom::State& state) {
  state.text("type") == "single" ? measure_dot<float>(state) : measure_dot<double>(state);
}
HEADROOM_EXPERIMENT(dot).summary("sum of products").axis("type", {"single", "double"});

}  // namespace
