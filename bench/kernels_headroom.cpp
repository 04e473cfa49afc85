// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "kernels.h"

namespace {

using headroom::State;

void empty(State& state) {
  state.measure([] {});
}
HEADROOM_EXPERIMENT(empty).summary("cost of the loop itself");

void chain(State& state) {
  double x = 1;
  state.measure([&] { headroom::keep(x = bench::multiply_chain(1.0, bench::kChain)); });
}
HEADROOM_EXPERIMENT(chain).summary("1,000 dependent multiplications");

void stream(State& state) {
  const std::vector<long> values = bench::stream_input();
  const std::size_t count = state.backend() == "short" ? bench::kShortStream : bench::kLongStream;
  state.measure([&] { headroom::keep(bench::stream_sum(values.data(), count)); });
}
HEADROOM_EXPERIMENT(stream).summary("a sum over 32 MiB against one 3 % longer").backends({"short", "long"});

void chains(State& state) {
  const int count = state.backend() == "short" ? 10 * bench::kChain : 10 * bench::kChain * 103 / 100;
  double x = 1;
  state.measure([&] { headroom::keep(x = bench::multiply_chain(1.0, count)); });
}
HEADROOM_EXPERIMENT(chains)
    .summary("10,000 dependent multiplications against 3 % more")
    .backends({"short", "long"});

}  // namespace
