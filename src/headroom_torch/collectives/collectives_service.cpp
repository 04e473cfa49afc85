// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/collectives/collectives_service.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/machine/memory.h"
#include "headroom/machine/rank_cpus.h"
#include "headroom/runner/json_integer.h"
#include "headroom_torch/collectives/collective_case.h"

namespace headroom::torch_runner {
namespace {

constexpr int kMostSamples = 1'000'000;

class CollectivesService final : public RankPart {
 public:
  explicit CollectivesService(const RankContext& context) : context_(context) {}

  bool takes(const std::string& what) const override {
    return what == "collective" || what == "collective_samples";
  }

  Json answer(const std::string& what, const Json& request) override {
    if (what == "collective") return to_json(prepare(collective_setup_from_json(request)));
    CollectiveSamples samples;
    samples.idle = idle_;
    if (idle_) return to_json(samples);
    if (!case_) throw Error("no collective was asked for before " + in_quotes(what));
    return to_json(case_->samples(std::min(json_integer<int>(request, "count", "request", 1), kMostSamples)));
  }

 private:
  struct Connected {
    dtensor::Group group;
    CollectiveBackendTraits traits;
  };

  CollectiveReady prepare(const CollectiveSetup& setup) {
    case_.reset();
    idle_ = context_.place.rank >= setup.ranks;
    CollectiveReady ready;
    ready.idle = idle_;
    if (idle_) return ready;
    if (setup.ranks > context_.place.size) {
      throw Error(fmt::format("{} of {} ranks in a world of {}", setup.op, setup.ranks, context_.place.size));
    }
    const Connected& connected = connect(setup.ranks);
    ready.bytes = actual_bytes(setup);
    ready.how = composition_of(setup.op, connected.traits);
    ready.skipped = lack_of_memory(setup, ready.bytes);
    if (ready.skipped.empty()) case_ = make_collective(setup, connected.group, connected.traits);
    return ready;
  }

  const Connected& connect(int ranks) {
    const auto known = connected_.find(ranks);
    if (known != connected_.end()) return known->second;
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    Connected connected{context_.world->group(all, "collectives"), {}};
    connected.traits = backend_traits(connected.group);
    if (connected_.empty()) {
      at::set_num_threads(1);
      keep_to_cpus_of_rank(context_.place, 1);
    }
    return connected_.emplace(ranks, std::move(connected)).first->second;
  }

  /// Said before anything is taken; the ranks of a machine share what there is.
  std::string lack_of_memory(const CollectiveSetup& setup, std::int64_t bytes) const {
    const auto here = std::min(context_.place.local_size.value_or(context_.place.size), setup.ranks);
    const auto need = static_cast<double>(collective_footprint(bytes)) * here;
    const auto available = static_cast<double>(available_memory_bytes());
    if (need <= available) return "";
    return fmt::format("{} of {} takes {} on {} {} of a machine that has {} left: lower --max-bytes",
                       setup.op, format_bytes(static_cast<double>(bytes)), format_bytes(need), here,
                       here == 1 ? "rank" : "ranks", format_bytes(available));
  }

  const RankContext& context_;
  std::map<int, Connected> connected_;  ///< by the number of ranks
  std::unique_ptr<CollectiveCase> case_;
  bool idle_ = false;
};

}  // namespace

std::unique_ptr<RankPart> collectives_service(const RankContext& context) {
  return std::make_unique<CollectivesService>(context);
}

}  // namespace headroom::torch_runner
