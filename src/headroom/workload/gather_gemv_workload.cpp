// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/gather_gemv_workload.h"

#include <fmt/format.h>

#include "headroom/experiment/random.h"
#include "headroom/workload/oracle.h"

namespace headroom {
namespace {

/// The pair that is verified, and is the only one when hot, comes first.
constexpr std::array<GatherGemvWorkload::Pair, GatherGemvWorkload::kExperts / GatherGemvWorkload::kChosen>
    kPairs{{{3, 5}, {0, 1}, {2, 4}, {6, 7}}};

std::shared_ptr<GatherGemvWorkload> make_gather_gemv(State& state, const std::string& dtype, std::size_t size,
                                                     std::size_t copies, const Team& team) {
  const std::size_t bytes = bytes_of(GatherGemvWorkload::kExperts, size, size, item_bytes(dtype));
  state.require_memory(bytes_of(InputCopies::stride_of(bytes), copies));
  auto made = std::make_shared<GatherGemvWorkload>(
      GatherGemvWorkload{size, dtype, InputCopies(bytes, copies), std::vector<Bf16>(size), {}});
  fill_random(std::span(made->x), state.seed() + 1);
  if (dtype == "bf16") {
    fill_random(made->experts.first<Bf16>(), state.seed());
  } else {
    fill_random(made->experts.first<std::int8_t>(), state.seed());
  }
  const std::vector<double> x = as_doubles(made->x);
  for (std::size_t chosen = 0; chosen < GatherGemvWorkload::kChosen; ++chosen) {
    const std::vector<double> part = exact_gemv(team, dtype, made->matrix(0, chosen), size, x);
    made->expected.insert(made->expected.end(), part.begin(), part.end());
  }
  made->experts.spread(team);
  return made;
}

void describe(State& state, const std::string& dtype, std::size_t size) {
  const auto d = static_cast<double>(size);
  constexpr double kChosen = GatherGemvWorkload::kChosen;
  state.work({.flops = kChosen * 2 * d * d,
              .bytes = kChosen * d * d * static_cast<double>(item_bytes(dtype)),
              .dtype = dtype_of_peak(dtype)});
  state.input("W", fmt::format("{}[{},{},{}] {}", dtype, GatherGemvWorkload::kExperts, size, size,
                               dtype == "bf16" ? "normal(0,1)" : "uniform[-127,127]"));
  state.input("x", fmt::format("bf16[{}] normal(0,1)", size));
  state.input("score_idxs", "int64[2] 3, 5");
}

}  // namespace

const GatherGemvWorkload::Pair& GatherGemvWorkload::pair(std::size_t copy) {
  return kPairs[copy % kPairs.size()];
}

const std::byte* GatherGemvWorkload::stack(std::size_t copy) const {
  return experts.copy(copy / kPairs.size());
}

std::shared_ptr<const GatherGemvWorkload> gather_gemv_workload(State& state, const Team& team) {
  const std::size_t size = size_axis(state, "D");
  const std::string dtype = state.text("dtype");
  const std::size_t matrix_bytes = bytes_of(size, size, item_bytes(dtype));
  state.require_memory(bytes_of(GatherGemvWorkload::kExperts, matrix_bytes));
  const std::size_t rotations = state.rotate(GatherGemvWorkload::kChosen * matrix_bytes);
  const std::size_t copies = (rotations + kPairs.size() - 1) / kPairs.size();
  describe(state, dtype, size);
  return state.shared<GatherGemvWorkload>(
      fmt::format("gather_gemv D={} dtype={} seed={} copies={}", size, dtype, state.seed(), copies),
      [&] { return make_gather_gemv(state, dtype, size, copies, team); });
}

}  // namespace headroom
