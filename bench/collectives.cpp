// SPDX-License-Identifier: Apache-2.0
// One rank of bench/collectives.py.
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
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom_torch/collectives/collectives.h"
#include "headroom_torch/dtensor/connection.h"

namespace headroom::torch_runner {
namespace {

dtensor::Group world_of(const RankPlace& place) {
  dtensor::WorldOptions options;
  options.rank = place.rank;
  options.size = place.size;
  options.address = place.meeting->address;
  options.port = place.meeting->port;
  options.ring = std::make_shared<CollectiveRing>(CollectiveRing::create());
  std::vector<int> ranks(static_cast<std::size_t>(place.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return dtensor::World::connect(options)->group(ranks, "bench");
}

/// Calls after a barrier, with new data, as in `headroom ddp --collectives`.
class PlainLoop {
 public:
  PlainLoop(std::string op, CollectiveBackend& c10d, std::int64_t floats, int ranks)
      : op_(std::move(op)),
        c10d_(c10d),
        ranks_(ranks),
        source_(at::rand({floats})),
        data_(at::zeros({floats})),
        other_(at::zeros({floats})),
        mine_(at::zeros({floats / ranks})),
        part_(data_.narrow(0, 0, floats / ranks)),
        part_source_(source_.narrow(0, 0, floats / ranks)) {}

  std::vector<double> samples(int count) {
    std::vector<at::Tensor> tensors{data_}, parts{part_};
    std::vector<std::int64_t> equal;
    if (op_ == "all_reduce") return loop(count, data_, {}, [&] { c10d_.allreduce(tensors)->wait(); });
    if (op_ == "broadcast") return loop(count, data_, {}, [&] { c10d_.broadcast(tensors)->wait(); });
    if (op_ == "all_gather") {
      std::vector<std::vector<at::Tensor>> pieces{other_.chunk(ranks_)};
      return loop(count, part_, other_, [&] { c10d_.allgather(pieces, parts)->wait(); });
    }
    if (op_ == "all_to_all") {
      return loop(count, data_, other_, [&] { c10d_.alltoall_base(other_, data_, equal, equal)->wait(); });
    }
    const at::Tensor rows = other_.view({ranks_, -1});
    return loop(count, data_, mine_, [&] {
      c10d_.alltoall_base(other_, data_, equal, equal)->wait();
      at::sum_out(mine_, rows, 0);
    });
  }

 private:
  template <typename Call>
  std::vector<double> loop(int count, at::Tensor& in, at::Tensor out, Call&& call) {
    const at::Tensor& source = in.is_same(part_) ? part_source_ : source_;
    std::vector<double> ns;
    for (int i = 0; i < count; ++i) {
      if (out.defined()) out.fill_(-1);
      in.copy_(source);
      c10d_.barrier({})->wait();
      const auto begin = std::chrono::steady_clock::now();
      call();
      const auto end = std::chrono::steady_clock::now();
      ns.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
    }
    return ns;
  }

  std::string op_;
  CollectiveBackend& c10d_;
  int ranks_;
  at::Tensor source_, data_, other_, mine_, part_, part_source_;
};

/// Allocates in every round: the placement of memory must favour neither loop. The first call does not count.
Json measure(const std::string& op, std::int64_t bytes, const RankPlace& place, const dtensor::Group& group,
             const CollectiveBackendTraits& traits, int rounds, int calls) {
  const CollectiveSetup setup{op, collective_bytes(op, bytes, "f32", place.size), "f32", place.size, 1};
  const std::int64_t floats = setup.bytes / 4;
  Json ours_ns = Json::array(), plain_ns = Json::array();
  for (int round = 0; round < rounds; ++round) {
    const auto take_ours = [&] {
      const auto ours = make_collective(setup, group, traits);
      ours->time(1);
      std::vector<double> ns;
      for (int call = 0; call < calls; ++call) ns.push_back(ours->time(1));
      if (const std::string wrong = ours->mismatch_text(); !wrong.empty()) throw Error(op + ": " + wrong);
      ours_ns.push_back(ns);
    };
    const auto take_plain = [&] {
      PlainLoop plain(op, *group.connection->backend, floats, place.size);
      plain.samples(1);
      plain_ns.push_back(plain.samples(calls));
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
  pin_to_rank_cpus(*place, 1);
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
