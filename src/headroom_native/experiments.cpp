// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/experiments.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/llm_workload.h"
#include "headroom_native/gpt_fast/gpt_fast.h"
#include "headroom_native/kernels/tuning.h"
#include "headroom_native/limits/limit_experiments.h"
#include "headroom_native/llm/llm_cases.h"
#include "headroom_native/peers/library_peer.h"
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";

/// Powers of two from 16 KiB (fits any L1) to 1 GiB.
Axis working_sets() {
  Axis axis{"bytes", Axis::Kind::kInteger, {}};
  for (long long bytes = 16 << 10; bytes <= 1 << 30; bytes *= 2) axis.values.push_back(std::to_string(bytes));
  return axis;
}

void add_limits(Registry& registry) {
  registry.add("limit.read", limit_read)
      .summary("bandwidth of reading a working set")
      .axis(working_sets())
      .axis("pattern", {"linear", "streams", "prefetch", "streams_prefetch"})
      .metric(kBandwidth)
      .limit();
  registry.add("limit.write", limit_write)
      .summary("bandwidth of writing a working set")
      .axis(working_sets())
      .axis("pattern", {"plain", "nontemporal"})
      .metric(kBandwidth)
      .limit();
  registry.add("limit.zero_fill", limit_zero_fill)
      .summary("bandwidth of clearing a working set by the CPU's zeroing instruction")
      .axis(working_sets())
      .metric(kBandwidth)
      .limit();
  registry.add("limit.copy", limit_copy)
      .summary("bandwidth of copying one half of a working set to the other, read and written bytes")
      .axis(working_sets())
      .axis("pattern", {"plain", "nontemporal", "prefetch"})
      .metric(kBandwidth)
      .limit();
  registry.add("limit.peak", limit_peak)
      .summary("arithmetic peak")
      .axis("dtype", {"f64", "f32", "bf16", "int8"})
      .axis("pattern", {"fma", "dot", "amx"})
      .limit();
  registry.add("limit.pingpong", limit_pingpong)
      .summary("time to pass a cache line from one CPU to another")
      .metric("latency")
      .limit();
}

std::vector<std::string> with_peers(std::vector<std::string> ours, const std::vector<std::string>& peers) {
  ours.insert(ours.end(), peers.begin(), peers.end());
  return ours;
}

Experiment::Function with_libraries(const std::shared_ptr<Peers>& peers, void (*ours)(State&),
                                    void (*theirs)(const Peer&, State&)) {
  return [=](State& state) {
    const auto peer = peers->find(state.backend());
    if (peer == peers->end()) return ours(state);
    theirs(peer->second, state);
  };
}

/// Adds it to all experiments that it can serve.
void add_peer(Registry& registry, Peers& peers, const std::string& text) {
  PeerRequest request = parse_peer(text);
  with_context("--peer " + quote(text), [&] {
    for (const char* name : {"gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu"}) {
      for (const std::string& backend : registry.find(name)->backends()) {
        if (backend == request.name)
          throw Error("backend " + quote(backend) + " exists already: choose another with name=NAME");
      }
    }
    std::string name = request.name;
    peers.emplace(name, load_peer(std::move(request)));
    for (const char* experiment : {"gemv", "gather_gemv", "layer_norm"}) {
      Experiment& found = *registry.find(experiment);
      found.backends(with_peers(found.backends(), {name}));
    }
  });
}

void take_arguments(Registry& registry, Peers& peers, const std::vector<std::string>& arguments) {
  std::vector<std::string> of_models;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != "--peer") {
      of_models.push_back(arguments[i]);
    } else if (++i < arguments.size()) {
      add_peer(registry, peers, arguments[i]);
    } else {
      throw Error("--peer needs a value: PATH:SYMBOL");
    }
  }
  if (!of_models.empty()) register_llm(registry, of_models);
}

}  // namespace

void register_native_experiments(Registry& registry) {
  const std::vector<std::string> gemvs = with_peers({"native", "native_strict", "reference"}, gemv_peers());
  const auto peers = std::make_shared<Peers>();
  add_seed_experiments(
      registry,
      {{with_libraries(peers, gemv, measure_gemv_by), gemvs, {{"native", gemv_variants({"bf16", "int8"})}}},
       {with_libraries(peers, gather_gemv, measure_gather_gemv_by),
        gemvs,
        {{"native", gemv_variants({"bf16", "int8"})}}},
       {with_libraries(peers, layer_norm, measure_layer_norm_by),
        with_peers({"native", "reference"}, layer_norm_peers()),
        {{"native", norm_variants()}}},
       {mlp_layer_norm_gelu,
        with_peers({"native", "reference"}, mlp_peers()),
        {{"native", mlp_variants()}}}});
  add_llm_experiments(registry, llm_decode, {"native"});
  add_int4_llm_experiments(registry, llm_decode, {"native"});
  add_limits(registry);
  registry.take_arguments_with([peers](Registry& into, const std::vector<std::string>& arguments) {
    take_arguments(into, *peers, arguments);
  });
}

}  // namespace headroom::native
