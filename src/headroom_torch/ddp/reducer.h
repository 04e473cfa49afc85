// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headroom_torch/ddp/model.h"
#include "headroom_torch/ddp/work_clock.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// What happens to the gradients of a backward pass.
enum class Reduction {
  kAverage,     ///< each becomes the mean over the ranks
  kLocal,       ///< the same work in this process, but nothing is sent
  kAccumulate,  ///< nothing: they add up until the next pass that averages them (DDP's no_sync)
};

/// When a bucket was sent and when it was there, in nanoseconds of the steady clock. On a GPU: when its
/// gradients were there and the GPU could begin to send, and when its sum was.
struct BucketTimes {
  std::int64_t bytes = 0, tensors = 0;
  std::int64_t launched_ns = 0, completed_ns = 0;
};

/// Averages the gradients of a model over ranks. Around every backward pass: begin(), backward, finish(); all
/// ranks do it equally often with the same Reduction.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  virtual void begin(Reduction reduction) = 0;
  /// Waits for what is on its way. Throws Error where a rank is gone or late.
  virtual void finish() = 0;
  /// Of the last pass that was not kAccumulate, in the order of launch; empty where it is not known.
  /// By `clock`, on a GPU after its await().
  virtual std::vector<BucketTimes> times(const WorkClock& clock) = 0;
  /// Parameters that no rank's first averaging pass reached, by name: they are not reduced.
  virtual std::vector<std::string> unused() const = 0;
};

/// Ours: averages while the backward pass still runs. Gradients are views of buckets, which are filled in the
/// order in which the backward pass produces them and reduced as soon as they are full, in the same order on
/// all ranks. The first pass that averages observes the order (that of the group's first rank counts for
/// all), later ones have buckets made by it. A parameter that was unused then and gets a gradient later is an
/// Error in that pass. Gradients that are undefined before a pass are taken into their bucket without an
/// addition.
///
/// `group` may be of one rank; the parameters are on its device. They are not to be replaced while this
/// lives.
std::unique_ptr<GradientReducer> bucket_reducer(const std::vector<Parameter>& parameters,
                                                dtensor::Group group, std::int64_t bucket_bytes);

/// libtorch's own, c10d::Reducer, as PyTorch's DistributedDataParallel sets it, with gradients as views of
/// buckets: for comparison. Its kLocal passes are kAccumulate ones, and it tells no times. Throws Error for
/// one rank, and where it is not built.
std::unique_ptr<GradientReducer> c10d_reducer(const std::vector<Parameter>& parameters, dtensor::Group group,
                                              std::int64_t bucket_bytes);

}  // namespace headroom::torch_runner
