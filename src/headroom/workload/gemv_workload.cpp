// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/gemv_workload.h"

#include <fmt/format.h>

#include "headroom/experiment/random.h"
#include "headroom/workload/oracle.h"

namespace headroom {
namespace {

std::shared_ptr<GemvWorkload> make_gemv(State& state, const std::string& dtype, std::size_t size,
                                        std::size_t copies, const Team& team) {
  const std::size_t bytes = bytes_of(size, size, item_bytes(dtype));
  state.require_memory(bytes_of(InputCopies::stride_of(bytes), copies));
  auto made = std::make_shared<GemvWorkload>(
      GemvWorkload{size, dtype, InputCopies(bytes, copies), std::vector<Bf16>(size), {}});
  fill_random(std::span(made->x), state.seed() + 1);
  if (dtype == "bf16") {
    fill_random(made->weights.first<Bf16>(), state.seed());
  } else {
    fill_random(made->weights.first<std::int8_t>(), state.seed());
  }
  made->expected = exact_gemv(team, dtype, made->weights.copy(0), size, as_doubles(made->x));
  made->weights.spread(team);
  return made;
}

void describe(State& state, const std::string& dtype, std::size_t size, std::size_t bytes) {
  const auto d = static_cast<double>(size);
  state.work({.flops = 2 * d * d, .bytes = static_cast<double>(bytes), .dtype = dtype_of_peak(dtype)});
  state.input("W", fmt::format("{}[{},{}] {}", dtype, size, size,
                               dtype == "bf16" ? "normal(0,1)" : "uniform[-127,127]"));
  state.input("x", fmt::format("bf16[{}] normal(0,1)", size));
}

}  // namespace

std::shared_ptr<const GemvWorkload> gemv_workload(State& state, const Team& team) {
  const std::size_t size = size_axis(state, "D");
  const std::string dtype = state.text("dtype");
  const std::size_t bytes = bytes_of(size, size, item_bytes(dtype));
  state.require_memory(bytes);
  const std::size_t copies = state.rotate(InputCopies::stride_of(bytes));
  describe(state, dtype, size, bytes);
  return state.shared<GemvWorkload>(
      fmt::format("gemv D={} dtype={} seed={} copies={}", size, dtype, state.seed(), copies),
      [&] { return make_gemv(state, dtype, size, copies, team); });
}

}  // namespace headroom
