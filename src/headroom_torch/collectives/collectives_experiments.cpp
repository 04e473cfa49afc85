// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/collectives/collectives_experiments.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/experiment/state.h"
#include "headroom/machine/memory.h"
#include "headroom/ranks/collectives/collective_sizes.h"
#include "headroom/ranks/rank_cpus.h"
#include "headroom/ranks/rank_exchange.h"
#include "headroom/record/bus_factor.h"
#include "headroom_torch/collectives/collective_case.h"
#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/dtensor/noted_call.h"
#include "headroom_torch/tensors/compat.h"

namespace headroom::torch_runner {
namespace {

/// By how many ranks the group has.
using Traits = std::map<int, CollectiveBackendTraits>;

CollectiveSetup setup_of(const std::string& op, const State& state, int world) {
  CollectiveSetup setup{op, state.integer("bytes"), state.text("dtype"), 0, state.seed()};
  const std::int64_t ranks = state.integer("ranks");
  if (ranks < 2) state.skip(fmt::format("{} of {} rank: nobody to talk to", op, ranks));
  if (ranks > world) throw Error(fmt::format("{} of {} ranks in a world of {}", op, ranks, world));
  setup.ranks = static_cast<int>(ranks);
  const std::int64_t whole = collective_bytes(op, setup.bytes, setup.dtype, setup.ranks);
  if (whole != setup.bytes) {
    throw Error(fmt::format("{} bytes are no whole number of {} for each of {} ranks: take {}", setup.bytes,
                            setup.dtype, setup.ranks, whole));
  }
  return setup;
}

/// Said before anything is taken; the ranks of a machine share what there is.
void require_memory(const RankContext& context, const CollectiveSetup& setup, const State& state) {
  const int here = context.ranks_here(setup.ranks);
  const auto need = static_cast<double>(collective_footprint(setup.bytes)) * here;
  const auto available = static_cast<double>(available_memory_bytes());
  if (need <= available) return;
  state.skip(fmt::format("takes {} on {} {} of a machine that has {} left: lower --max-bytes",
                         format_bytes(need), here, here == 1 ? "rank" : "ranks", format_bytes(available)));
}

void report(const CollectiveSetup& setup, State& state) {
  const double gigabytes = static_cast<double>(setup.bytes) * 1e-9;
  state.rate("algbw", gigabytes, "GB/s");
  if (const auto factor = bus_factor(setup.op, setup.ranks)) state.rate("busbw", gigabytes * *factor, "GB/s");
  state.note("library", fmt::format("libtorch {}", kTorchVersion));
  state.work({.dtype = {}, .exchanged = exchanged_bytes(setup.op, setup.bytes, setup.ranks)});
}

/// What all ranks of the group tell each other, by rank.
std::vector<std::int64_t> gather(const dtensor::Group& group, std::int64_t number) {
  std::vector<at::Tensor> sent{at::full({1}, number, at::kLong)};
  at::Tensor all = at::empty({group.size()}, at::kLong);
  std::vector<std::vector<at::Tensor>> pieces{all.chunk(group.size())};
  group.connection->backend->allgather(pieces, sent)->wait();
  return {all.data_ptr<std::int64_t>(), all.data_ptr<std::int64_t>() + group.size()};
}

/// The limit of collectives: what each rank sends goes to the next without a library.
void measure_exchange(RankContext& context, State& state) {
  const std::size_t bytes = static_cast<std::size_t>(state.integer("bytes"));
  const auto ranks = static_cast<int>(state.integer("ranks"));
  if (context.place.rank >= ranks) return state.measure_batches([](std::uint64_t) { return 0.0; });
  if (context.ranks_here(ranks) < ranks) state.skip("ranks on several machines: exchanged is within one");
  const dtensor::Group& group = context.first(ranks, "collectives", dtensor::Transport::kGloo);
  keep_to_cpus_of_rank(context.place, 1);
  state.work({.dtype = {}, .exchanged = static_cast<double>(bytes)});
  std::unique_ptr<Exchange> exchange;
  state.measure_batches([&](std::uint64_t rounds) {
    if (!exchange) {
      const auto tell = [&](std::int64_t number) { return gather(group, number); };
      exchange = make_exchange(state.text("pattern"), bytes, {group.index, ranks, tell, group.timeout});
      exchange->run(1);
      if (!exchange->is_right()) throw Error("an exchange brought other bytes than were sent");
    }
    dtensor::barrier(group);
    const auto begin = std::chrono::steady_clock::now();
    exchange->run(rounds);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  });
}

void measure(const std::string& op, RankContext& context, Traits& known, State& state) {
  const CollectiveSetup setup = setup_of(op, state, context.place.size);
  if (context.place.rank >= setup.ranks) return state.measure_batches([](std::uint64_t) { return 0.0; });
  const dtensor::Group& group = context.first(setup.ranks, "collectives", dtensor::Transport::kGloo);
  if (!known.contains(setup.ranks)) known[setup.ranks] = backend_traits(group);
  const CollectiveBackendTraits& traits = known[setup.ranks];
  at::set_num_threads(1);
  keep_to_cpus_of_rank(context.place, 1);
  require_memory(context, setup, state);
  report(setup, state);
  const std::string how = composition_of(op, traits);
  if (!how.empty()) state.note("composed of", how);
  const auto collective = make_collective(setup, group, traits);
  state.verifies_samples();
  state.measure_batches([&](std::uint64_t calls) {
    const double ns = collective->time(calls);
    const std::string wrong = collective->what_is_wrong();
    if (!wrong.empty())
      state.wrong_answer(fmt::format("wrong data on rank {}: {}", context.place.rank, wrong));
    return ns;
  });
}

}  // namespace

void add_collectives(Registry& registry, RankContext& context) {
  const auto traits = std::make_shared<Traits>();
  for (const std::string op : kCollectives) {
    registry
        .add(op, in_few_words([op, traits, &context](State& state) { measure(op, context, *traits, state); }))
        .summary("a collective of c10d, from a barrier until the slowest rank has it")
        .axis("bytes", {1024, 65536, 1048576, 16777216})
        .axis("ranks", {2})
        .axis({"dtype", Axis::Kind::kFree, {"f32"}})
        .backends({"gloo"})
        .metric("latency")
        .places_itself();
  }
  registry.add("limit.exchange", in_few_words([&context](State& state) { measure_exchange(context, state); }))
      .summary("what each rank of a machine sends to the next while it receives as much, without a library")
      .axis("bytes", {1024, 65536, 1048576, 16777216})
      .axis("ranks", {2})
      .axis("pattern", {"loopback", "shared_memory"})
      .metric("latency")
      .places_itself()
      .limit();
}

}  // namespace headroom::torch_runner
