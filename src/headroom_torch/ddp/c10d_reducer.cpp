// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "headroom/base/error.h"
#include "headroom_torch/ddp/reducer.h"
#include "headroom_torch/dtensor/connection.h"

// Since 2.0 c10d::Reducer takes a ProcessGroup, not our groups' backend, and its constructor varies.
#if HEADROOM_TORCH_HAS_GLOO && !HEADROOM_TORCH_AT_LEAST(2, 0) && \
    __has_include(<torch/csrc/distributed/c10d/reducer.hpp>)
#define HEADROOM_TORCH_HAS_REDUCER 1
#include <torch/csrc/distributed/c10d/reducer.hpp>
#else
#define HEADROOM_TORCH_HAS_REDUCER 0
#endif

namespace headroom::torch_runner {

#if HEADROOM_TORCH_HAS_REDUCER

namespace {

class C10dReducer final : public GradientReducer {
 public:
  C10dReducer(const std::vector<Parameter>& parameters, dtensor::Group group, std::int64_t bucket_bytes)
      : group_(std::move(group)) {
    std::vector<at::Tensor> values;
    std::unordered_map<std::size_t, std::string> names;
    for (const Parameter& parameter : parameters) {
      names[values.size()] = parameter.name;
      values.push_back(parameter.value);
    }
    const std::vector<bool> sparse(values.size(), false);
    const auto most = static_cast<std::size_t>(bucket_bytes);
    const std::size_t first = std::min<std::size_t>(c10d::kDefaultFirstBucketBytes, most);
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(values, {first, most}, sparse);
    // As DistributedDataParallel does.
    std::ranges::reverse(buckets);
    std::ranges::reverse(limits);
    reducer_ =
        std::make_unique<c10d::Reducer>(values, buckets, limits, group_.connection->backend, sparse,
                                        bucket_bytes, false, true, names, static_cast<std::int64_t>(first));
  }

  void begin(Reduction reduction) override {
    reducer_->rebuild_buckets();
    reducer_->prepare_for_forward();
    if (reduction == Reduction::kAverage) reducer_->prepare_for_backward({});
  }
  void finish() override {}  // backward() has waited
  std::vector<BucketTimes> times(const WorkClock& /*clock*/) override { return {}; }
  std::vector<std::string> unused() const override { return {}; }

 private:
  dtensor::Group group_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<GradientReducer> c10d_reducer(const std::vector<Parameter>& parameters, dtensor::Group group,
                                              std::int64_t bucket_bytes) {
  if (group.size() == 1) throw Error("c10d's reducer needs at least 2 ranks: leave --reducer out");
  return std::make_unique<C10dReducer>(parameters, std::move(group), bucket_bytes);
}

#else

std::unique_ptr<GradientReducer> c10d_reducer(const std::vector<Parameter>& /*parameters*/,
                                              dtensor::Group /*group*/, std::int64_t /*bucket_bytes*/) {
  throw Error(fmt::format(
      "c10d's reducer is not available with libtorch {}, only with 1.13 and gloo: leave --reducer out",
      kTorchVersion));
}

#endif

}  // namespace headroom::torch_runner
