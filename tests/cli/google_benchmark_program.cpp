// SPDX-License-Identifier: Apache-2.0
// A time, a rate, non-finite counters, an error, repetitions with aggregates.
#include <benchmark/benchmark.h>

#include <limits>

namespace {

void sum(benchmark::State& state) {
  for (auto _ : state) {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(total += i);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["not_a_number"] = std::numeric_limits<double>::quiet_NaN();
  state.counters["no_end"] = std::numeric_limits<double>::infinity();
}
BENCHMARK(sum)->Arg(64)->Arg(4096)->Unit(benchmark::kMicrosecond);

void broken(benchmark::State& state) {
  state.SkipWithError("this device is missing");
  for (auto _ : state) {
  }
}
BENCHMARK(broken);

}  // namespace

BENCHMARK_MAIN();
