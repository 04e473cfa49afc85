// SPDX-License-Identifier: Apache-2.0
// One rank of bench/collectives.py: each collective through `headroom ddp --collectives`' own loop and
// through a plain loop over c10d, in turns, on the same connections.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/machine/rank_cpus.h"
#include "headroom_torch/collectives/collective_case.h"
#include "headroom_torch/dtensor/connection.h"

namespace headroom::torch_runner {
namespace {

dtensor::Group world_of(const RankPlace& place) {
  dtensor::WorldOptions options;
  options.rank = place.rank;
  options.size = place.size;
  options.address = place.meeting->address;
  options.port = place.meeting->port;
  // The ring is in the loop that is measured, as it is in a rank.
  options.ring = std::make_shared<CollectiveRing>(CollectiveRing::create());
  std::vector<int> ranks(static_cast<std::size_t>(place.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return dtensor::World::connect(options)->group(ranks, "bench");
}

/// What a program without any of this would write: c10d called `count` times, each call after a barrier and
/// with new data.
template <typename Call>
std::vector<double> plain_loop(CollectiveBackend& c10d, at::Tensor& buffer, const at::Tensor& source,
                               int count, Call&& call) {
  std::vector<double> ns;
  for (int i = 0; i < count; ++i) {
    buffer.copy_(source);
    c10d.barrier({})->wait();
    const auto begin = std::chrono::steady_clock::now();
    call();
    const auto end = std::chrono::steady_clock::now();
    ns.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
  }
  return ns;
}

std::vector<double> plain(const std::string& op, CollectiveBackend& c10d, std::int64_t count_of_floats,
                          int ranks, int count) {
  const at::Tensor source = at::rand({count_of_floats});
  at::Tensor data = at::empty_like(source), other = at::empty_like(source);
  std::vector<at::Tensor> tensors{data};
  if (op == "all_reduce")
    return plain_loop(c10d, data, source, count, [&] { c10d.allreduce(tensors)->wait(); });
  if (op == "broadcast")
    return plain_loop(c10d, data, source, count, [&] { c10d.broadcast(tensors)->wait(); });
  if (op == "all_gather") {
    at::Tensor part = data.narrow(0, 0, count_of_floats / ranks);
    std::vector<at::Tensor> sent{part};
    std::vector<std::vector<at::Tensor>> pieces{other.chunk(ranks)};
    return plain_loop(c10d, part, source.narrow(0, 0, part.numel()), count,
                      [&] { c10d.allgather(pieces, sent)->wait(); });
  }
  std::vector<std::int64_t> received, sent;
  if (op == "all_to_all")
    return plain_loop(c10d, data, source, count,
                      [&] { c10d.alltoall_base(other, data, received, sent)->wait(); });
  at::Tensor mine = at::empty({count_of_floats / ranks});
  return plain_loop(c10d, data, source, count, [&] {
    c10d.alltoall_base(other, data, received, sent)->wait();
    at::sum_out(mine, other.view({ranks, -1}), 0);
  });
}

Json measure(const std::string& op, std::int64_t bytes, const RankPlace& place, const dtensor::Group& group,
             const CollectiveBackendTraits& traits, int rounds, int calls) {
  const CollectiveSetup setup{op, bytes, "f32", place.size, 1};
  const std::int64_t floats = actual_bytes(setup) / 4;
  const auto ours = make_collective(setup, group, traits);
  Json ours_ns = Json::array(), plain_ns = Json::array();
  for (int round = 0; round < rounds; ++round) {
    const auto take_ours = [&] {
      const CollectiveSamples samples = ours->samples(calls);
      if (!samples.wrong.empty()) throw Error(op + ": " + samples.wrong);
      ours_ns.push_back(samples.ns);
    };
    const auto take_plain = [&] {
      plain_ns.push_back(plain(op, *group.connection->backend, floats, place.size, calls));
    };
    if (round % 2 == 0) take_ours();
    take_plain();
    if (round % 2 == 1) take_ours();
  }
  return {{"op", op}, {"bytes", floats * 4}, {"ours_ns", ours_ns}, {"plain_ns", plain_ns}};
}

int run(const std::vector<std::string>& arguments) {
  const auto place = rank_place();
  if (!place || !place->meeting || arguments.size() < 3) {
    throw Error("a rank of bench/collectives.py: ROUNDS CALLS BYTES...");
  }
  at::set_num_threads(1);
  const dtensor::Group group = world_of(*place);
  keep_to_cpus_of_rank(*place, 1);
  const CollectiveBackendTraits traits = backend_traits(group);
  const int rounds = std::stoi(arguments[0]), calls = std::stoi(arguments[1]);
  for (const char* op : kCollectives) {
    for (std::size_t i = 2; i < arguments.size(); ++i) {
      const Json result = measure(op, std::stoll(arguments[i]), *place, group, traits, rounds, calls);
      std::printf("%s\n", dump_json(result).c_str());
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace headroom::torch_runner

int main(int argc, char** argv) {
  try {
    return headroom::torch_runner::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
}
