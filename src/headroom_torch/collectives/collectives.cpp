// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/collectives/collectives.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/experiment/state.h"
#include "headroom/machine/memory.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom/ranks/rank_exchange.h"
#include "headroom/record/metrics.h"
#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/ranks/rank_experiments.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {

struct CollectiveBuffers {
  at::Tensor source;   ///< copied into `in` before each call
  at::Tensor in, out;  ///< the same tensor for an in-place collective
  ExpectedValue expected;
  bool receives_only = false;  ///< this rank contributes no input
};

/// Run: void(), starts the collective and waits; a template avoids an indirect call.
template <typename Run>
class CollectiveLoop final : public CollectiveCase {
 public:
  CollectiveLoop(const CollectiveSetup& setup, const dtensor::Group& group, CollectiveBuffers buffers,
                 Run run)
      : setup_(setup), group_(group), buffers_(std::move(buffers)), run_(std::move(run)) {}

  double time(std::uint64_t calls) override {
    double ns = 0;
    for (; calls > 0; --calls) {
      prepare();
      dtensor::barrier(group_);
      dtensor::ScopedRingEntry note(group_, setup_.op, setup_.dtype, buffers_.in.numel(),
                                    buffers_.out.numel());
      ns += time_run();
      note.completed();
    }
    // Early ranks must not disturb the others.
    dtensor::barrier(group_);
    return ns;
  }

  std::string mismatch_text() const override {
    return torch_runner::mismatch_text(buffers_.out, buffers_.expected);
  }

 private:
  /// An in-place all-reduce would accumulate, and stale data could pass as received.
  void prepare() {
    if (!buffers_.out.is_same(buffers_.in) || buffers_.receives_only) poison(buffers_.out);
    if (!buffers_.receives_only) buffers_.in.copy_(buffers_.source);
  }

  double time_run() {
    try {
      const auto begin = std::chrono::steady_clock::now();
      run_();
      const auto end = std::chrono::steady_clock::now();
      return std::chrono::duration<double, std::nano>(end - begin).count();
    } catch (const std::exception& error) {
      dtensor::refuse_call(group_, setup_.op, error);
    }
  }

  CollectiveSetup setup_;
  dtensor::Group group_;
  CollectiveBuffers buffers_;
  Run run_;
};

namespace {

template <typename Body>
void with_type(at::ScalarType type, Body&& body) {
  switch (type) {
    case at::kFloat:
      return body(static_cast<float*>(nullptr));
    case at::kDouble:
      return body(static_cast<double*>(nullptr));
    case at::kHalf:
      return body(static_cast<at::Half*>(nullptr));
    case at::kInt:
      return body(static_cast<std::int32_t*>(nullptr));
    case at::kLong:
      return body(static_cast<std::int64_t*>(nullptr));
    default:
      throw Error(fmt::format("cannot measure collectives of {}", at::toString(type)));
  }
}

template <typename T>
T as(int value) {
  // c10::Half converts only from float.
  if constexpr (std::is_same_v<T, at::Half>) {
    return at::Half(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

using CollectiveCasePtr = std::unique_ptr<CollectiveCase>;

struct Parts {
  const CollectiveSetup& setup;
  const dtensor::Group& group;
  CollectivePattern pattern;
  at::ScalarType type;
  std::int64_t whole;  // elements
  std::int64_t share;  // per rank
  int rank;

  at::Tensor make(std::int64_t elements) const {
    return at::zeros({elements}, at::TensorOptions().dtype(type));
  }
  at::Tensor source(std::int64_t elements) const {
    at::Tensor made = make(elements);
    fill_with(made, [&](std::int64_t place) { return pattern.value(rank, place); });
    return made;
  }
  CollectiveBackend& backend() const { return *group.connection->backend; }

  template <typename Run>
  CollectiveCasePtr loop(CollectiveBuffers buffers, Run run) const {
    return std::make_unique<CollectiveLoop<Run>>(setup, group, std::move(buffers), std::move(run));
  }
};

CollectiveCasePtr all_reduce(const Parts& parts) {
  const at::Tensor data = parts.make(parts.whole);
  return parts.loop({parts.source(parts.whole), data, data,
                     [pattern = parts.pattern](std::int64_t place) { return pattern.sum(place); }},
                    [tensors = std::vector<at::Tensor>{data}, backend = &parts.backend()]() mutable {
                      backend->allreduce(tensors)->wait();
                    });
}

CollectiveCasePtr broadcast(const Parts& parts) {
  const at::Tensor data = parts.make(parts.whole);
  CollectiveBuffers buffers{parts.source(parts.whole), data, data,
                            [pattern = parts.pattern](std::int64_t p) { return pattern.value(0, p); }};
  buffers.receives_only = parts.rank != 0;
  return parts.loop(std::move(buffers),
                    [tensors = std::vector<at::Tensor>{data}, backend = &parts.backend()]() mutable {
                      backend->broadcast(tensors)->wait();
                    });
}

CollectiveCasePtr all_gather(const Parts& parts) {
  const at::Tensor in = parts.make(parts.share), out = parts.make(parts.whole);
  std::vector<std::vector<at::Tensor>> pieces{out.chunk(parts.setup.ranks)};
  return parts.loop({parts.source(parts.share), in, out,
                     [pattern = parts.pattern, share = parts.share](std::int64_t place) {
                       return pattern.value(place / share, place % share);
                     }},
                    [pieces = std::move(pieces), sent = std::vector<at::Tensor>{in},
                     backend = &parts.backend()]() mutable { backend->allgather(pieces, sent)->wait(); });
}

/// Empty size lists mean equal parts.
void exchange(CollectiveBackend& backend, at::Tensor& to, at::Tensor& from) {
  std::vector<std::int64_t> received, sent;
  backend.alltoall_base(to, from, received, sent)->wait();
}

CollectiveCasePtr all_to_all(const Parts& parts) {
  at::Tensor in = parts.make(parts.whole), out = parts.make(parts.whole);
  return parts.loop({parts.source(parts.whole), in, out,
                     [pattern = parts.pattern, share = parts.share, rank = parts.rank](std::int64_t place) {
                       return pattern.value(place / share, rank * share + place % share);
                     }},
                    [in, out, backend = &parts.backend()]() mutable { exchange(*backend, out, in); });
}

CollectiveBuffers scattered(const Parts& parts, const at::Tensor& in, const at::Tensor& out) {
  return {parts.source(parts.whole), in, out,
          [pattern = parts.pattern, first = parts.rank * parts.share](std::int64_t place) {
            return pattern.sum(first + place);
          }};
}

CollectiveCasePtr reduce_scatter(const Parts& parts) {
  at::Tensor in = parts.make(parts.whole), out = parts.make(parts.share);
  return parts.loop(scattered(parts, in, out), [in, out, backend = &parts.backend()]() mutable {
    backend->_reduce_scatter_base(out, in)->wait();
  });
}

/// Moves half the bytes of an all-reduce of the whole.
CollectiveCasePtr composed_reduce_scatter(const Parts& parts) {
  at::Tensor in = parts.make(parts.whole), out = parts.make(parts.share);
  at::Tensor received = parts.make(parts.whole);
  return parts.loop(scattered(parts, in, out),
                    [in, out, received, rows = received.view({parts.setup.ranks, -1}),
                     backend = &parts.backend()]() mutable {
                      exchange(*backend, received, in);
                      at::sum_out(out, rows, 0, /*keepdim=*/false, out.scalar_type());
                    });
}

using Traits = std::map<int, CollectiveBackendTraits>;

CollectiveSetup setup_of(const std::string& op, const State& state, int world) {
  CollectiveSetup setup{op, state.integer("bytes"), state.text("dtype"), 0, state.seed()};
  const std::int64_t ranks = state.integer("ranks");
  if (ranks < 2) state.skip(fmt::format("{} on {} rank: needs at least 2 ranks", op, ranks));
  if (ranks > world) throw Error(fmt::format("cannot run {} on {} ranks in a world of {}", op, ranks, world));
  setup.ranks = static_cast<int>(ranks);
  const std::int64_t whole = collective_bytes(op, setup.bytes, setup.dtype, setup.ranks);
  if (whole != setup.bytes) {
    throw Error(fmt::format("{} bytes do not split into whole {} for each of {} ranks: use {}", setup.bytes,
                            setup.dtype, setup.ranks, whole));
  }
  return setup;
}

void require_memory(const RankContext& context, const CollectiveSetup& setup, const State& state) {
  const int here = context.local_rank_count(setup.ranks);
  const auto need = static_cast<double>(collective_footprint(setup.bytes)) * here;
  const auto available = static_cast<double>(available_memory_bytes());
  if (need <= available) return;
  state.skip(fmt::format("needs {} on {} {} of a machine with {} available: lower --max-bytes",
                         format_bytes(need), here, here == 1 ? "rank" : "ranks", format_bytes(available)));
}

void report(const CollectiveSetup& setup, State& state) {
  const double gigabytes = static_cast<double>(setup.bytes) * 1e-9;
  state.rate("algbw", gigabytes, "GB/s");
  if (const auto factor = bus_factor(setup.op, setup.ranks)) state.rate("busbw", gigabytes * *factor, "GB/s");
  state.note("library", fmt::format("libtorch {}", kTorchVersion));
  state.work({.dtype = {}, .exchanged = exchanged_bytes(setup.op, setup.bytes, setup.ranks)});
}

std::vector<std::int64_t> gather(const dtensor::Group& group, std::int64_t number) {
  std::vector<at::Tensor> sent{at::full({1}, number, at::kLong)};
  at::Tensor all = at::empty({group.size()}, at::kLong);
  std::vector<std::vector<at::Tensor>> pieces{all.chunk(group.size())};
  group.connection->backend->allgather(pieces, sent)->wait();
  return {all.data_ptr<std::int64_t>(), all.data_ptr<std::int64_t>() + group.size()};
}

void measure_exchange(RankContext& context, State& state) {
  const std::size_t bytes = static_cast<std::size_t>(state.integer("bytes"));
  const auto ranks = static_cast<int>(state.integer("ranks"));
  if (context.place.rank >= ranks) return state.measure_batches([](std::uint64_t) { return 0.0; });
  if (context.local_rank_count(ranks) < ranks)
    state.skip("ranks on several machines: measured within one machine only");
  const dtensor::Group& group = context.first(ranks, "collectives", dtensor::Transport::kGloo);
  pin_to_rank_cpus(context.place, 1);
  state.work({.dtype = {}, .exchanged = static_cast<double>(bytes)});
  std::unique_ptr<Exchange> exchange;
  state.measure_batches([&](std::uint64_t rounds) {
    if (!exchange) {
      const auto gather_number = [&](std::int64_t number) { return gather(group, number); };
      exchange =
          make_exchange(state.text("pattern"), bytes, {group.index, ranks, gather_number, group.timeout});
      exchange->run(1);
      if (!exchange->is_right()) throw Error("an exchange delivered wrong bytes");
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
  pin_to_rank_cpus(context.place, 1);
  require_memory(context, setup, state);
  report(setup, state);
  const std::string how = composition_of(op, traits);
  if (!how.empty()) state.note("composed of", how);
  const auto collective = make_collective(setup, group, traits);
  state.verifies_samples();
  state.measure_batches([&](std::uint64_t calls) {
    const double ns = collective->time(calls);
    const std::string wrong = collective->mismatch_text();
    if (!wrong.empty())
      state.wrong_answer(fmt::format("wrong data on rank {}: {}", context.place.rank, wrong));
    return ns;
  });
}

}  // namespace

at::ScalarType collective_scalar_type(const std::string& dtype) {
  if (dtype == "f32") return at::kFloat;
  if (dtype == "f64") return at::kDouble;
  if (dtype == "f16") return at::kHalf;
  if (dtype == "i32") return at::kInt;
  if (dtype == "i64") return at::kLong;
  throw Error("unknown dtype " + quote(dtype) + ": expected f32, f64, f16, i32 or i64");
}

void fill_with(at::Tensor& tensor, const ExpectedValue& expected) {
  with_type(tensor.scalar_type(), [&]<typename T>(T*) {
    T* const values = tensor.data_ptr<T>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) values[i] = as<T>(expected(i));
  });
}

void poison(at::Tensor& tensor) {
  with_type(tensor.scalar_type(),
            [&]<typename T>(T*) { tensor.fill_(static_cast<double>(std::numeric_limits<T>::lowest())); });
}

std::string mismatch_text(const at::Tensor& tensor, const ExpectedValue& expected) {
  std::string wrong;
  with_type(tensor.scalar_type(), [&]<typename T>(T*) {
    const T* const values = tensor.data_ptr<T>();
    std::int64_t count = 0, first = 0;
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      if (values[i] == as<T>(expected(i))) continue;
      if (count++ == 0) first = i;
    }
    if (count == 0) return;
    wrong = fmt::format("element {} of {} is {:g}, not {} ({} wrong)", first, tensor.numel(),
                        static_cast<double>(values[first]), expected(first),
                        count == 1 ? "1 is" : fmt::format("{} are", count));
  });
  return wrong;
}

CollectiveBackendTraits backend_traits(const dtensor::Group& group) {
  CollectiveBackendTraits traits;
  if (group.size() < 2) return traits;
  at::Tensor in = at::zeros({group.size()}), out = at::zeros({1});
  try {
    group.connection->backend->_reduce_scatter_base(out, in)->wait();
    traits.has_reduce_scatter = true;
  } catch (const std::exception&) {
    // gloo 1.13 throws on every rank before sending anything.
  }
  return traits;
}

std::string composition_of(const std::string& op, const CollectiveBackendTraits& traits) {
  if (op == "reduce_scatter" && !traits.has_reduce_scatter) return "all_to_all, then a sum on each rank";
  return "";
}

std::unique_ptr<CollectiveCase> make_collective(const CollectiveSetup& setup, const dtensor::Group& group,
                                                const CollectiveBackendTraits& traits) {
  const at::ScalarType type = collective_scalar_type(setup.dtype);
  const std::int64_t whole = setup.bytes / static_cast<std::int64_t>(c10::elementSize(type));
  const Parts parts{setup,      group, CollectivePattern(setup.ranks, setup.seed),
                    type,       whole, whole / setup.ranks,
                    group.index};
  const std::string_view op = setup.op;
  if (op == "all_reduce") return all_reduce(parts);
  if (op == "all_gather") return all_gather(parts);
  if (op == "broadcast") return broadcast(parts);
  if (op == "all_to_all") return all_to_all(parts);
  if (op != "reduce_scatter") throw Error("unknown collective " + quote(op));
  return traits.has_reduce_scatter ? reduce_scatter(parts) : composed_reduce_scatter(parts);
}

void add_collectives(Registry& registry, RankContext& context) {
  const auto traits = std::make_shared<Traits>();
  for (const std::string op : kCollectives) {
    registry
        .add(op, with_short_errors(
                     [op, traits, &context](State& state) { measure(op, context, *traits, state); }))
        .summary("time of a c10d collective, from a barrier until the slowest rank ends")
        .axis("bytes", {1024, 65536, 1048576, 16777216})
        .axis("ranks", {2})
        .axis({"dtype", Axis::Kind::kFree, {"f32"}})
        .backends({"gloo"})
        .metric("latency")
        .places_itself();
  }
  registry
      .add("limit.exchange",
           with_short_errors([&context](State& state) { measure_exchange(context, state); }))
      .summary("time to send to the next rank of a machine while receiving as much, without a library")
      .axis("bytes", {1024, 65536, 1048576, 16777216})
      .axis("ranks", {2})
      .axis("pattern", {"loopback", "shared_memory"})
      .metric("latency")
      .places_itself()
      .limit();
}

}  // namespace headroom::torch_runner
