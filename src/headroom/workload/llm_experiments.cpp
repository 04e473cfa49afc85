// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_experiments.h"

#include <string>

namespace headroom {
namespace {

void add(Registry& registry, const std::string& name, const LlmConfig& config, const LlmFunction& decode,
         std::initializer_list<const char*> backends, const std::string& device) {
  const std::string iteration = device == "cpu" ? "token" : "generation";
  registry.add(name, [decode, config](State& state) { decode(state, config); })
      .summary("decoding of " + config.model + ", one sequence, one " + iteration + " an iteration")
      .axis("layers", {static_cast<long long>(config.layers)})
      .axis("prompt_len", {6})
      .axis("max_new_tokens", {200})
      .axis(Axis{"dtype", Axis::Kind::kText, {config.dtype}})
      .device(device)
      .backends(backends)
      .metric("token_per_sec")
      .also_metrics({"memory_bandwidth(GB/s)", "compilation_time(s)"})
      .model(config.model)
      .on_request();
}

}  // namespace

void add_llm_experiments(Registry& registry, const LlmFunction& decode,
                         std::initializer_list<const char*> backends, const char* device) {
  add(registry, "llama2_7b_bf16", llama2_7b("bf16"), decode, backends, device);
  add(registry, "llama2_7b_int8", llama2_7b("int8"), decode, backends, device);
  add(registry, "mixtral_8x7b_int8", mixtral_8x7b("int8"), decode, backends, device);
}

void add_int4_llm_experiments(Registry& registry, const LlmFunction& decode,
                              std::initializer_list<const char*> backends) {
  add(registry, "llama2_7b_int4", llama2_7b("int4"), decode, backends, "cpu");
  add(registry, "mixtral_8x7b_int4", mixtral_8x7b("int4"), decode, backends, "cpu");
}

}  // namespace headroom
