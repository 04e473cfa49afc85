// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/collectives/collective_case.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_torch/collectives/collective_data.h"
#include "headroom_torch/collectives/collective_loop.h"
#include "headroom_torch/collectives/collective_pattern.h"

namespace headroom::torch_runner {
namespace {

using Case = std::unique_ptr<CollectiveCase>;

/// What all collectives are made from.
struct Parts {
  const CollectiveSetup& setup;
  const dtensor::Group& group;
  CollectivePattern pattern;
  at::ScalarType type;
  std::int64_t whole;  // elements
  std::int64_t share;  // of each rank
  int rank;

  at::Tensor make(std::int64_t elements) const {
    return at::zeros({elements}, at::TensorOptions().dtype(type));
  }
  /// What this rank puts in.
  at::Tensor source(std::int64_t elements) const {
    at::Tensor made = make(elements);
    fill_with(made, [&](std::int64_t place) { return pattern.value(rank, place); });
    return made;
  }
  CollectiveBackend& backend() const { return *group.connection->backend; }

  template <typename Run>
  Case loop(CollectiveBuffers buffers, Run run) const {
    return std::make_unique<CollectiveLoop<Run>>(setup, group, std::move(buffers), std::move(run));
  }
};

Case all_reduce(const Parts& parts) {
  const at::Tensor data = parts.make(parts.whole);
  return parts.loop({parts.source(parts.whole), data, data,
                     [pattern = parts.pattern](std::int64_t place) { return pattern.sum(place); }},
                    [tensors = std::vector<at::Tensor>{data}, backend = &parts.backend()]() mutable {
                      backend->allreduce(tensors)->wait();
                    });
}

Case broadcast(const Parts& parts) {
  const at::Tensor data = parts.make(parts.whole);
  CollectiveBuffers buffers{parts.source(parts.whole), data, data,
                            [pattern = parts.pattern](std::int64_t p) { return pattern.value(0, p); }};
  buffers.receives_only = parts.rank != 0;
  return parts.loop(std::move(buffers),
                    [tensors = std::vector<at::Tensor>{data}, backend = &parts.backend()]() mutable {
                      backend->broadcast(tensors)->wait();
                    });
}

Case all_gather(const Parts& parts) {
  const at::Tensor in = parts.make(parts.share), out = parts.make(parts.whole);
  std::vector<std::vector<at::Tensor>> pieces{out.chunk(parts.setup.ranks)};
  return parts.loop({parts.source(parts.share), in, out,
                     [pattern = parts.pattern, share = parts.share](std::int64_t place) {
                       return pattern.value(place / share, place % share);
                     }},
                    [pieces = std::move(pieces), sent = std::vector<at::Tensor>{in},
                     backend = &parts.backend()]() mutable { backend->allgather(pieces, sent)->wait(); });
}

/// All equal parts, which is what empty lists of sizes say.
void exchange(CollectiveBackend& backend, at::Tensor& to, at::Tensor& from) {
  std::vector<std::int64_t> received, sent;
  backend.alltoall_base(to, from, received, sent)->wait();
}

Case all_to_all(const Parts& parts) {
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

Case reduce_scatter(const Parts& parts) {
  at::Tensor in = parts.make(parts.whole), out = parts.make(parts.share);
  return parts.loop(scattered(parts, in, out), [in, out, backend = &parts.backend()]() mutable {
    backend->_reduce_scatter_base(out, in)->wait();
  });
}

/// Half of the bytes that an all-reduce of the whole would move.
Case composed_reduce_scatter(const Parts& parts) {
  at::Tensor in = parts.make(parts.whole), out = parts.make(parts.share);
  at::Tensor received = parts.make(parts.whole);
  return parts.loop(scattered(parts, in, out),
                    [in, out, received, rows = received.view({parts.setup.ranks, -1}),
                     backend = &parts.backend()]() mutable {
                      exchange(*backend, received, in);
                      at::sum_out(out, rows, 0, /*keepdim=*/false, out.scalar_type());
                    });
}

}  // namespace

CollectiveBackendTraits backend_traits(const dtensor::Group& group) {
  CollectiveBackendTraits traits;
  if (group.size() < 2) return traits;
  at::Tensor in = at::zeros({group.size()}), out = at::zeros({1});
  try {
    group.connection->backend->_reduce_scatter_base(out, in)->wait();
    traits.has_reduce_scatter = true;
  } catch (const std::exception&) {
    // 1.13's gloo says so before it sends anything, on every rank alike.
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
  if (op != "reduce_scatter") throw Error("no collective " + in_quotes(op));
  return traits.has_reduce_scatter ? reduce_scatter(parts) : composed_reduce_scatter(parts);
}

}  // namespace headroom::torch_runner
