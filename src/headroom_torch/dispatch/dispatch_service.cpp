// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dispatch/dispatch_service.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/machine/perf_event.h"
#include "headroom/machine/rank_cpus.h"
#include "headroom/runner/dispatch_protocol.h"
#include "headroom/runner/json_integer.h"
#include "headroom_torch/compat.h"
#include "headroom_torch/dispatch/dispatch_panel.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {
namespace {

constexpr int kMostCycles = 1'000'000;

RankHello hello_of(const RankPlace& place) {
  RankHello hello;
  hello.rank = place.rank;
  hello.size = place.size;
  hello.pid = ::getpid();
  hello.library = fmt::format("libtorch {}", kTorchVersion);
  hello.no_counters = InstructionCounter().absence();
  for (const PanelOp& op : dispatch_panel()) hello.ops.push_back({op.name, op.summary, op.by_default});
  return hello;
}

dtensor::WorldPtr connect(const RankPlace& place, double timeout_s) {
  dtensor::WorldOptions options;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3));
  options.rank = place.rank;
  options.size = place.size;
  if (place.meeting) {
    options.address = place.meeting->address;
    options.port = place.meeting->port;
  }
  return dtensor::World::connect(options);
}

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

/// One conversation: the case that was asked for last.
class Service {
 public:
  explicit Service(const RankPlace& place) : place_(place) {}

  Json answer(const Json& request) {
    const std::string what = json_string(request, "do", "request");
    if (what == "meet") {
      world_ = connect(place_, json_number(request, "timeout_s", "request"));
      return {{"met", place_.size}};
    }
    if (!world_) throw Error("the ranks have not met");
    if (what == "dispatch") return prepare(request);
    if (what != "cycles" && what != "steps" && what != "calls")
      throw Error("unknown request " + in_quotes(what));
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
    require_fit(context.setup, place_.size);
    const std::string name = json_string(request, "op", "request");
    const auto& panel = dispatch_panel();
    const auto op = std::ranges::find_if(panel, [&](const PanelOp& known) { return name == known.name; });
    if (op == panel.end()) throw Error("no operator " + in_quotes(name));
    const bool is_first = !mesh_;
    if (is_first || mesh_->shape() != context.setup.mesh) {
      mesh_ = dtensor::DeviceMesh::create(world_, context.setup.mesh);
    }
    if (is_first) keep_to_cpus_of_rank(place_, context.setup.threads);
    at::set_num_threads(context.setup.threads);
    context.mesh = mesh_;
    context.placements = placements_of(context.setup);
    case_ = op->make(context);
    return {{"ready", name}};
  }

  const RankPlace& place_;
  dtensor::WorldPtr world_;
  dtensor::MeshPtr mesh_;
  std::unique_ptr<DispatchCase> case_;
};

/// c10's errors say where in libtorch they were thrown, line by line: the first line is the reason.
std::string first_line(const char* text) {
  const std::string_view all(text);
  return std::string(all.substr(0, all.find('\n')));
}

}  // namespace

void serve_dispatch(Channel channel, const RankPlace& place) {
  Service service(place);
  if (!channel.write_line(dump_json(to_json(hello_of(place))))) return;
  std::string line;
  while (channel.read_line(line, std::chrono::milliseconds(-1)) == Channel::Status::kLine) {
    Json reply;
    try {
      reply = service.answer(parse_json(line, "request"));
    } catch (const std::exception& error) {
      reply = {{"error", first_line(error.what())}};
    }
    if (!channel.write_line(dump_json(reply))) return;
  }
}

}  // namespace headroom::torch_runner
