// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "kernels.h"

namespace {

void chain(benchmark::State& state) {
  for (auto iteration : state) {
    (void)iteration;
    double x = bench::multiply_chain(1.0, bench::kChain);
    benchmark::DoNotOptimize(x);
  }
}
BENCHMARK(chain);

void chains(benchmark::State& state) {
  for (auto iteration : state) {
    (void)iteration;
    double x = bench::multiply_chain(1.0, static_cast<int>(state.range(0)));
    benchmark::DoNotOptimize(x);
  }
}
BENCHMARK(chains)->Arg(10 * bench::kChain)->Arg(10 * bench::kChain * 103 / 100);

void stream(benchmark::State& state) {
  const std::vector<long> values = bench::stream_input();
  for (auto iteration : state) {
    (void)iteration;
    long sum = bench::stream_sum(values.data(), static_cast<std::size_t>(state.range(0)));
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(stream)->Arg(bench::kShortStream)->Arg(bench::kLongStream);

}  // namespace

BENCHMARK_MAIN();
