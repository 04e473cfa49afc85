// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/footprint.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

#include "headroom_torch/calls/flop_counter.h"
#include "headroom_torch/ddp/model.h"
#include "headroom_torch/tensors/compat.h"

namespace headroom::torch_runner {
namespace {

/// Images of the trial passes: large enough for every stride of the networks.
constexpr std::int64_t kTrialImage = 64;

#if HEADROOM_TORCH_AT_LEAST(2, 0)
using Total = std::size_t;
#else
using Total = std::int64_t;
#endif

/// Follows what this thread takes and gives back.
class MemoryWatch final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*pointer*/, std::int64_t change, Total /*allocated*/, Total /*reserved*/,
                         c10::Device /*device*/) override {
    held_ += change;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }

 private:
  std::int64_t held_ = 0, peak_ = 0;
};

void trial_pass(Model& model, std::int64_t batch_size, std::int64_t image_size) {
  const Batch batch = model.batch(batch_size, image_size, 1);
  at::cross_entropy_loss(model.forward(batch.input), batch.target).backward();
}

std::int64_t peak_of(Model& model, std::int64_t batch_size, std::int64_t image_size) {
  const auto watch = std::make_shared<MemoryWatch>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, watch);
    trial_pass(model, batch_size, image_size);
  }
  drop_gradients(model);
  return watch->peak();
}

}  // namespace

double training_flops(Model& model, std::int64_t image_size) {
  const double flops = count_flops([&] { trial_pass(model, 1, image_size); }).flops;
  drop_gradients(model);
  return flops;
}

TrainingTraffic training_traffic(const Model& model) {
  const auto bytes = 4 * static_cast<double>(parameter_count(model));
  return {.read = 5 * bytes, .written = 3 * bytes};
}

TrainingBytes training_bytes(Model& model, std::int64_t batch_size, std::int64_t image_size,
                             bool with_buckets) {
  const std::int64_t trial = std::min(image_size, kTrialImage);
  const std::int64_t one = peak_of(model, 1, trial), two = peak_of(model, 2, trial);
  double example = static_cast<double>(std::max<std::int64_t>(two - one, 0));
  if (image_size > 0) {
    const double scale = static_cast<double>(image_size) / static_cast<double>(trial);
    example *= scale * scale;
  }
  const std::int64_t parameters = 4 * parameter_count(model);
  constexpr double kMost = 4e18;  // a batch may be any number
  return {parameters * (with_buckets ? 3 : 2),
          static_cast<std::int64_t>(std::min(kMost, example * static_cast<double>(batch_size)))};
}

}  // namespace headroom::torch_runner
