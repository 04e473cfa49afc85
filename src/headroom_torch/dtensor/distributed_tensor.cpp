// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/distributed_tensor.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <functional>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/dispatch.h"
#include "headroom_torch/dtensor/redistribution.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner::dtensor {
namespace {

using torch::autograd::variable_list;

const Wrapper& expect_wrapper(const at::Tensor& tensor, const char* what) {
  if (const Wrapper* wrapper = wrapper_of(tensor)) return *wrapper;
  throw Error(fmt::format("{} needs a distributed tensor: make one with distribute or from_local", what));
}

Placements replicated(const DeviceMesh& mesh) {
  return Placements(static_cast<std::size_t>(mesh.dims()), Placement(Replicate()));
}

const Spec* spec_for(const at::Tensor& part, const DeviceMesh& mesh, const Placements& placements,
                     c10::IntArrayRef sizes) {
  return mesh.intern({&mesh, placements, Sizes(sizes.begin(), sizes.end()), part.scalar_type()});
}

void check_values(const at::Tensor& values, const DeviceMesh& mesh, const Placements& placements,
                  const char* what) {
  if (wrapper_of(values)) throw Error(fmt::format("{} needs a plain tensor, not a distributed one", what));
  check_placements(mesh, placements, static_cast<std::size_t>(values.dim()), what);
  for (const Placement placement : placements) {
    if (placement.is_partial(ReduceOp::kAvg) && !values.is_floating_point()) {
      throw Error(fmt::format("{}: {} of {}: averages need a floating-point type", what, text(placement),
                              at::toString(values.scalar_type())));
    }
  }
}

at::Tensor place(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements) {
  const at::Tensor part = move_local(whole.detach(), *mesh, whole.sizes(), replicated(*mesh), placements);
  return wrap(part, spec_for(part, *mesh, placements, whole.sizes()));
}

at::Tensor replace(const at::Tensor& tensor, const Placements& placements) {
  const Wrapper& wrapper = *wrapper_of(tensor);
  const Spec& spec = *wrapper.spec();
  const at::Tensor part =
      move_local(wrapper.local(), *wrapper.mesh(), spec.sizes, spec.placements, placements);
  return wrap(part, spec_for(part, *wrapper.mesh(), placements, spec.sizes));
}

at::Tensor gathered_rows(const Group& group, c10::IntArrayRef mine) {
  const at::Tensor row = at::tensor(mine, at::kLong).unsqueeze(0);
  return group.size() == 1 ? row : all_gather(group, row.to(group.device), 0, group.size()).cpu();
}

/// Throws Error unless chunk() cuts a dimension into shards of these sizes.
std::int64_t whole_of(const Group& group, const at::Tensor& shards, int dim) {
  const std::int64_t whole = shards.sum().item<std::int64_t>();
  const std::vector<std::int64_t> held(shards.data_ptr<std::int64_t>(),
                                       shards.data_ptr<std::int64_t>() + shards.numel());
  for (int rank = 0; rank < group.size(); ++rank) {
    if (held[static_cast<std::size_t>(rank)] == chunk(whole, group.size(), rank).size) continue;
    throw Error(
        fmt::format("from_local: the shards of dimension {} over {} have the sizes {}, but at::chunk splits "
                    "{} into {} on rank {}: split like at::chunk",
                    dim, group.name, fmt::join(held, ", "), whole, chunk(whole, group.size(), rank).size,
                    group.ranks[static_cast<std::size_t>(rank)]));
  }
  return whole;
}

Sizes gathered_sizes(const at::Tensor& part, const DeviceMesh& mesh, const Placements& placements) {
  Sizes sizes(part.sizes().begin(), part.sizes().end());
  for (int mesh_dim = mesh.dims(); mesh_dim-- > 0;) {
    const Group& group = mesh.group(mesh_dim);
    const Placement placement = placements[static_cast<std::size_t>(mesh_dim)];
    // Checked first, because gathered rows must be equally long.
    if (!gathered_rows(group, {part.dim()}).eq(part.dim()).all().item<bool>()) {
      throw Error(
          fmt::format("from_local: the ranks of {} have parts of different numbers of dimensions: pass parts "
                      "of one tensor",
                      group.name));
    }
    const at::Tensor all = gathered_rows(group, sizes);
    for (int dim = 0; dim < part.dim(); ++dim) {
      const at::Tensor held = all.select(1, dim).contiguous();
      if (placement.is_shard(dim)) {
        sizes[static_cast<std::size_t>(dim)] = whole_of(group, held, dim);
      } else if (!held.eq(sizes[static_cast<std::size_t>(dim)]).all().item<bool>()) {
        throw Error(
            fmt::format("from_local: dimension {}, which {} does not shard, has unequal sizes over {}: use "
                        "the same size on every rank",
                        dim, text(placements), group.name));
      }
    }
  }
  return sizes;
}

Sizes multiplied_sizes(const at::Tensor& part, const DeviceMesh& mesh, const Placements& placements) {
  Sizes sizes(part.sizes().begin(), part.sizes().end());
  for (int mesh_dim = 0; mesh_dim < mesh.dims(); ++mesh_dim) {
    const Placement placement = placements[static_cast<std::size_t>(mesh_dim)];
    if (placement.is_shard()) sizes[static_cast<std::size_t>(placement.dim())] *= mesh.size(mesh_dim);
  }
  return sizes;
}

at::Tensor adopt(const at::Tensor& part, const MeshPtr& mesh, const Placements& placements,
                 c10::IntArrayRef sizes) {
  return wrap(part.detach(), spec_for(part, *mesh, placements, sizes));
}

/// Each rank holds the whole gradient of its summand.
Placements gradient_placements(Placements placements) {
  for (Placement& placement : placements) {
    if (placement.is_partial()) placement = Replicate();
  }
  return placements;
}

at::Tensor placed_gradient(const at::Tensor& gradient, const MeshPtr& mesh, const Placements& placements) {
  return wrapper_of(gradient) ? redistribute(gradient, placements) : distribute(gradient, mesh, placements);
}

struct Undo final : torch::autograd::Node {
  std::function<at::Tensor(const at::Tensor&)> undo;

  variable_list apply(variable_list&& gradients) override {
    return {gradients[0].defined() ? undo(gradients[0]) : at::Tensor()};
  }
};

/// `output` must be unshared.
at::Tensor derived(const at::Tensor& input, at::Tensor output,
                   std::function<at::Tensor(const at::Tensor&)> undo) {
  if (!at::GradMode::is_enabled() || !input.requires_grad()) return output;
  const auto node = make_autograd_node<Undo>();
  node->undo = std::move(undo);
  node->set_next_edges(torch::autograd::collect_next_edges(input));
  torch::autograd::set_history(output, node);
  return output;
}

template <typename Body>
at::Tensor without_gradient(Body&& body) {
  const at::NoGradGuard no_grad;
  return body();
}

}  // namespace

at::Tensor distribute(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements) {
  check_values(whole, *mesh, placements, "distribute");
  return derived(whole, without_gradient([&] { return place(whole, mesh, placements); }), full);
}

at::Tensor from_local(const at::Tensor& part, const MeshPtr& mesh, const Placements& placements,
                      LocalSizes check) {
  check_values(part, *mesh, placements, "from_local");
  const at::Tensor made = without_gradient([&] {
    return adopt(part, mesh, placements,
                 check == LocalSizes::kChecked ? gathered_sizes(part, *mesh, placements)
                                               : multiplied_sizes(part, *mesh, placements));
  });
  return derived(part, made, [mesh, placements](const at::Tensor& gradient) {
    return local(placed_gradient(gradient, mesh, gradient_placements(placements)));
  });
}

at::Tensor redistribute(const at::Tensor& tensor, const Placements& placements) {
  const Wrapper& wrapper = expect_wrapper(tensor, "redistribute");
  const Spec& spec = *wrapper.spec();
  check_placements(*wrapper.mesh(), placements, spec.sizes.size(), "redistribute");
  return derived(tensor, without_gradient([&] { return replace(tensor, placements); }),
                 [mesh = wrapper.mesh(), from = gradient_placements(spec.placements)](
                     const at::Tensor& gradient) { return placed_gradient(gradient, mesh, from); });
}

at::Tensor full(const at::Tensor& tensor) {
  const Wrapper& wrapper = expect_wrapper(tensor, "full");
  return local(redistribute(tensor, replicated(*wrapper.mesh())));
}

at::Tensor local(const at::Tensor& tensor) {
  const Wrapper& wrapper = expect_wrapper(tensor, "local");
  return derived(tensor, without_gradient([&] { return wrapper.local().detach(); }),
                 [mesh = wrapper.mesh(), spec = wrapper.spec()](const at::Tensor& gradient) {
                   return adopt(gradient, mesh, spec->placements, spec->sizes);
                 });
}

bool is_dtensor(const at::Tensor& tensor) {
  return wrapper_of(tensor) != nullptr;
}

const Spec& spec_of(const at::Tensor& tensor) {
  return *expect_wrapper(tensor, "spec_of").spec();
}

const MeshPtr& mesh_of(const at::Tensor& tensor) {
  return expect_wrapper(tensor, "mesh_of").mesh();
}

}  // namespace headroom::torch_runner::dtensor
