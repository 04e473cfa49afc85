// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/ddp_service.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/json_numbers.h"
#include "headroom/base/text.h"
#include "headroom/machine/rank_cpus.h"
#include "headroom/process/affinity.h"
#include "headroom/runner/ddp_protocol.h"
#include "headroom_torch/ddp/training.h"

namespace headroom::torch_runner {
namespace {

constexpr std::array<std::string_view, 8> kRequests{"train", "load",   "warm",   "rounds",
                                                    "agree", "reduce", "record", "drop"};
constexpr int kMostIterations = 1'000'000;

class DdpService final : public RankPart {
 public:
  explicit DdpService(const RankContext& context) : context_(context), cpus_(allowed_cpus()) {}

  bool takes(const std::string& what) const override {
    return std::ranges::find(kRequests, what) != kRequests.end();
  }

  Json answer(const std::string& what, const Json& request) override {
    if (what == "train") return prepare(ddp_setup_from_json(request));
    if (what == "drop") {
      training_.reset();
      return {{"dropped", true}};
    }
    if (idle_) return {{"idle", true}};
    if (!training_) throw Error("no model was asked for before " + in_quotes(what));
    if (what == "load") {
      training_->load();
      return {{"loaded", true}};
    }
    if (what == "agree") return to_json(training_->agree());
    const int count = std::min(json_integer<int>(request, "count", "request"), kMostIterations);
    if (what == "warm") {
      training_->warm(count);
      return {{"warm", count}};
    }
    if (what == "record") return record(json_string(request, "folder", "request"), count);
    return what == "rounds" ? to_json(training_->rounds(count)) : reduce(request, count);
  }

 private:
  Json prepare(const DdpSetup& setup) {
    training_.reset();
    idle_ = !setup.each_alone && context_.place.rank >= setup.ranks;
    if (idle_) return {{"idle", true}};
    if (setup.ranks > context_.place.size) {
      throw Error(fmt::format("a step of {} ranks in a world of {}", setup.ranks, context_.place.size));
    }
    pin_this_thread(cpus_);  // the threads of a new group are free to run anywhere
    dtensor::Group group = group_of(setup);
    at::set_num_threads(setup.threads);
    keep_to_cpus_of_rank(context_.place, setup.threads);
    training_ = std::make_unique<Training>(setup, std::move(group));
    return to_json(training_->ready());
  }

  static dtensor::Transport transport_of(const DdpSetup& setup) {
    if (setup.backend == "gloo") return dtensor::Transport::kGloo;
    if (setup.backend == "nccl") return dtensor::Transport::kNccl;
    throw Error("no backend " + in_quotes(setup.backend) + ": there are gloo and nccl");
  }

  /// With nccl each rank works on the GPU of its number on its machine.
  dtensor::Group group_of(const DdpSetup& setup) {
    std::vector<int> ranks{context_.place.rank};
    if (!setup.each_alone) {
      ranks.resize(static_cast<std::size_t>(setup.ranks));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    return context_.world->group(ranks, "ddp", transport_of(setup));
  }

  Json record(const std::string& folder, int count) {
    std::filesystem::create_directories(folder);
    const std::string file = fmt::format("{}/rank-{}.json.gz", folder, context_.place.rank);
    training_->record(file, count);
    return {{"file", file}};
  }

  Json reduce(const Json& request, int count) {
    Json sizes = Json::array();
    for (const double bytes : json_numbers(request, "bytes", "request")) {
      sizes.push_back(training_->reductions_ns(static_cast<std::int64_t>(bytes), count));
    }
    return {{"ns", std::move(sizes)}};
  }

  const RankContext& context_;
  std::vector<int> cpus_;  ///< that this process may use
  bool idle_ = false;
  std::unique_ptr<Training> training_;
};

}  // namespace

std::vector<RankHello::Model> ddp_models() {
  std::vector<RankHello::Model> models;
  for (const ModelEntry& model : model_table()) {
    models.push_back({model.name, model.summary, std::string_view(model.name) == "resnet18"});
  }
  return models;
}

std::unique_ptr<RankPart> ddp_service(const RankContext& context) {
  return std::make_unique<DdpService>(context);
}

}  // namespace headroom::torch_runner
