// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/llm_decode.h"

#include <chrono>

#include "headroom/workload/llm_workload.h"
#include "headroom_native/kernels/pool_team.h"
#include "headroom_native/llm/decoder.h"

namespace headroom::native {

void llm_decode(State& state, const LlmConfig& config) {
  const auto pool = shared_pool(state);
  const Team team = team_of(*pool);
  const auto workload = llm_workload(state, config, team);
  const auto start = std::chrono::steady_clock::now();
  const Isa isa = chosen_isa();
  LlmDecoder decoder(workload->weights, *pool, isa, workload->positions(),
                     TopKSampler(LlmWorkload::kTopK, LlmWorkload::kTemperature, state.seed(), isa));
  state.note("isa", decoder.isa());
  measure_llm(state, *workload, decoder, team, llm_tolerance(workload->weights.config(), false),
              std::chrono::steady_clock::now() - start);
}

}  // namespace headroom::native
