// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dispatch/dispatch_experiments.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/experiment/state.h"
#include "headroom/ranks/rank_cpus.h"
#include "headroom_torch/dispatch/dispatch_panel.h"
#include "headroom_torch/tensors/compat.h"

namespace headroom::torch_runner {
namespace {

dtensor::Placements placements_of(const DispatchSetup& setup) {
  dtensor::Placements placements;
  for (const PlacementText& placement : setup.placements) {
    switch (placement.kind) {
      case PlacementText::Kind::kShard:
        placements.push_back(dtensor::Shard{placement.dim});
        break;
      case PlacementText::Kind::kReplicate:
        placements.push_back(dtensor::Replicate());
        break;
      case PlacementText::Kind::kPartial:
        placements.push_back(dtensor::Partial());
        break;
    }
  }
  return placements;
}

/// The mesh that was asked for last: it is connected once for all operators.
class Meshes {
 public:
  explicit Meshes(const RankContext& context) : context_(context) {}

  dtensor::MeshPtr mesh(const std::vector<int>& shape, const std::string& backend) {
    if (!mesh_ || mesh_->shape() != shape || backend_ != backend) {
      const auto transport = backend == "nccl" ? dtensor::Transport::kNccl : dtensor::Transport::kGloo;
      mesh_ = dtensor::DeviceMesh::create(context_.world, shape, {}, transport);
      backend_ = backend;
    }
    return mesh_;
  }

 private:
  const RankContext& context_;
  dtensor::MeshPtr mesh_;
  std::string backend_;
};

void measure(const PanelOp& op, const RankContext& rank, Meshes& meshes, State& state) {
  DispatchContext context;
  context.setup = dispatch_setup_of([&](const char* axis) { return state.text(axis); });
  require_fit(context.setup, rank.place.size);
  context.mesh = meshes.mesh(context.setup.mesh, state.backend());
  keep_to_cpus_of_rank(rank.place, state.threads());
  at::set_num_threads(state.threads());
  context.placements = placements_of(context.setup);
  context.seed = state.seed();
  state.note("library", fmt::format("libtorch {}", kTorchVersion));
  op.make(context)->measure(state);
}

}  // namespace

void add_dispatch(Registry& registry, const RankContext& context) {
  const auto meshes = std::make_shared<Meshes>(context);
  for (const PanelOp& op : dispatch_panel()) {
    Experiment& experiment = registry.add(
        std::string("dispatch.") + op.name,
        in_few_words([&op, &context, meshes](State& state) { measure(op, context, *meshes, state); }));
    experiment.summary(op.summary)
        .backends({"gloo", "nccl"})
        .metric("latency")
        .places_itself()
        .each_rank_counts();
    for (const auto& [axis, value] : axes_of(DispatchSetup{}))
      experiment.axis({axis, Axis::Kind::kFree, {value}});
    if (!op.by_default) experiment.on_request();
  }
}

}  // namespace headroom::torch_runner
