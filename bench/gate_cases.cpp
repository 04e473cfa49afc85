// SPDX-License-Identifier: Apache-2.0
// Known work for gate_apart.py: HEADROOM_PLANTED="chain n=4096:0.1" makes that case do 10 % more than it
// declares.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "kernels.h"

namespace {

using headroom::State;

std::size_t steps(const State& state, const std::string& name) {
  const auto n = static_cast<std::size_t>(state.integer("n"));
  const char* planted = std::getenv("HEADROOM_PLANTED");
  if (planted == nullptr) return n;
  const std::string text = planted, mine = name + " n=" + std::to_string(n) + ":";
  if (!text.starts_with(mine)) return n;
  char* end = nullptr;
  const double share = std::strtod(text.c_str() + mine.size(), &end);
  if (end == text.c_str() + mine.size() || *end != '\0' || !(share >= 0 && share <= 1))
    throw headroom::Error("HEADROOM_PLANTED=" + text + ": expected CASE:SHARE, as in chain n=4096:0.1");
  return n + static_cast<std::size_t>(share * static_cast<double>(n));
}

void chain(State& state) {
  const auto count = static_cast<int>(steps(state, "chain"));
  double x = 1;
  state.work({.flops = static_cast<double>(state.integer("n")), .dtype = "f64"});
  state.measure([&] { headroom::keep(x = bench::multiply_chain(1.0, count)); });
}
HEADROOM_EXPERIMENT(chain).summary("n dependent multiplications").axis("n", {4096, 16384, 65536});

void total(State& state) {
  const std::vector<long> values(steps(state, "total"), 1);
  state.work({.bytes = 8.0 * static_cast<double>(state.integer("n"))});
  state.measure([&] { headroom::keep(bench::stream_sum(values.data(), values.size())); });
}
HEADROOM_EXPERIMENT(total).summary("a sum of n longs, in cache or not").axis("n", {4096, 65536, 4194304});

void copied(State& state) {
  const std::vector<long> from(steps(state, "copied"), 1);
  std::vector<long> to(from.size());
  const double written = 8.0 * static_cast<double>(state.integer("n"));
  state.work({.bytes = 2 * written, .bytes_written = written});
  state.measure([&] {
    std::copy(from.begin(), from.end(), to.begin());
    headroom::keep_memory();
  });
}
HEADROOM_EXPERIMENT(copied).summary("n longs copied, in cache or not").axis("n", {4096, 65536, 4194304});

}  // namespace
