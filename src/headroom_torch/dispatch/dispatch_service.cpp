// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dispatch/dispatch_service.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/machine/rank_cpus.h"
#include "headroom/runner/dispatch_protocol.h"
#include "headroom/runner/json_integer.h"
#include "headroom_torch/dispatch/dispatch_panel.h"

namespace headroom::torch_runner {
namespace {

constexpr int kMostCycles = 1'000'000;

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

dtensor::Transport transport_of(const DispatchSetup& setup) {
  if (setup.backend == "gloo") return dtensor::Transport::kGloo;
  if (setup.backend == "nccl") return dtensor::Transport::kNccl;
  throw Error("no backend " + in_quotes(setup.backend) + ": there are gloo and nccl");
}

/// The case that was asked for last.
class DispatchService final : public RankPart {
 public:
  explicit DispatchService(const RankContext& context) : context_(context) {}

  bool takes(const std::string& what) const override {
    return what == "dispatch" || what == "cycles" || what == "steps" || what == "calls";
  }

  Json answer(const std::string& what, const Json& request) override {
    if (what == "dispatch") return prepare(request);
    if (!case_) throw Error("no operator was asked for before " + in_quotes(what));
    const int count = std::min(json_integer<int>(request, "count", "request"), kMostCycles);
    if (what == "calls") {
      case_->calls(json_string(request, "kind", "request"), count);
      return {{"calls", count}};
    }
    return what == "cycles" ? to_json(case_->cycles(count)) : to_json(case_->steps(count));
  }

 private:
  Json prepare(const Json& request) {
    case_.reset();
    DispatchContext context;
    context.setup = dispatch_setup_from_json(request);
    require_fit(context.setup, context_.place.size);
    const std::string name = json_string(request, "op", "request");
    const auto& panel = dispatch_panel();
    const auto op = std::ranges::find_if(panel, [&](const PanelOp& known) { return name == known.name; });
    if (op == panel.end()) throw Error("no operator " + in_quotes(name));
    const bool is_first = !mesh_;
    if (is_first || mesh_->shape() != context.setup.mesh || backend_ != context.setup.backend) {
      mesh_ =
          dtensor::DeviceMesh::create(context_.world, context.setup.mesh, {}, transport_of(context.setup));
      backend_ = context.setup.backend;
    }
    if (is_first) keep_to_cpus_of_rank(context_.place, context.setup.threads);
    at::set_num_threads(context.setup.threads);
    context.mesh = mesh_;
    context.placements = placements_of(context.setup);
    case_ = op->make(context);
    return {{"ready", name}};
  }

  const RankContext& context_;
  dtensor::MeshPtr mesh_;
  std::string backend_;  ///< of the mesh
  std::unique_ptr<DispatchCase> case_;
};

}  // namespace

std::vector<RankHello::Op> dispatch_ops() {
  std::vector<RankHello::Op> ops;
  for (const PanelOp& op : dispatch_panel()) ops.push_back({op.name, op.summary, op.by_default});
  return ops;
}

std::unique_ptr<RankPart> dispatch_service(const RankContext& context) {
  return std::make_unique<DispatchService>(context);
}

}  // namespace headroom::torch_runner
