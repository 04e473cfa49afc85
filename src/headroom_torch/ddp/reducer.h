// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headroom_torch/ddp/model.h"
#include "headroom_torch/dtensor/world.h"
#include "headroom_torch/nccl/nccl_device.h"

namespace headroom::torch_runner {

/// Completion of device work: a time on the CPU, an event on a GPU.
struct Moment {
  std::int64_t ns = 0;  ///< steady clock, if there is no event
  dtensor::DeviceEvent event{};
};

std::int64_t steady_now_ns();

/// Times in nanoseconds of the steady clock.
class WorkClock {
 public:
  explicit WorkClock(c10::Device device) : device_(device) {}

  c10::Device device() const { return device_; }
  bool is_cpu() const { return device_.is_cpu(); }

  /// Waits until the device is idle: the origin of GPU times.
  void restart();
  /// When this thread's work enqueued so far is done.
  Moment now() const;
  void await() const;
  /// Call after await().
  std::int64_t ns(const Moment& moment) const;

 private:
  c10::Device device_;
  std::int64_t started_ns_ = 0;
  dtensor::DeviceEvent started_;
};

class PendingCall {
 public:
  /// Waits for a started collective; on a GPU only the current stream waits. Throws Error naming `what` and
  /// the ranks if it fails.
  void wait(const dtensor::Group& group, const char* what);
  bool is_started() const { return state_ != nullptr; }
  /// Resets this. Call after wait(), on a GPU after WorkClock::await(). Throws std::logic_error if nothing
  /// was started.
  Moment completed();

 private:
  struct State;
  friend PendingCall start_sum(const dtensor::Group&, const at::Tensor&);
  std::shared_ptr<State> state_;
};

/// In place, over at least two ranks.
PendingCall start_sum(const dtensor::Group& group, const at::Tensor& flat);

// No-ops for a single rank. Throw Error if a rank is lost or late. Exchange CPU numbers through the group's
// device.
void rank_barrier(const dtensor::Group& group);  ///< a barrier
void broadcast_from_first(const dtensor::Group& group, at::Tensor tensor);
void broadcast_from_first(const dtensor::Group& group, std::vector<std::int64_t>& numbers);
void all_reduce_max(const dtensor::Group& group, std::vector<std::int64_t>& numbers);
/// Throws Error on all ranks if a checksum differs from the first rank's: "rank 1 has `what` than rank 0".
void require_same(const dtensor::Group& group, std::uint64_t checksum, const std::string& what);

/// Small, so that the first reduction starts early, as in PyTorch's DDP.
inline constexpr std::int64_t kFirstBucketBytes = 1 << 20;

/// A bucket is closed once it holds its limit, the first at min(kFirstBucketBytes, limit). `bytes` is by
/// parameter.
std::vector<std::vector<std::size_t>> plan_buckets(const std::vector<std::size_t>& order,
                                                   const std::vector<std::int64_t>& bytes,
                                                   std::int64_t limit);

enum class Reduction {
  kAverage,     ///< mean over the ranks
  kLocal,       ///< same local work, but nothing is sent
  kAccumulate,  ///< summed until the next averaging pass (DDP's no_sync)
};

/// Steady-clock ns. On a GPU: when gradients were ready to send, and when their sum was ready.
struct BucketTimes {
  std::int64_t bytes = 0, tensors = 0;
  std::int64_t launched_ns = 0, completed_ns = 0;
};

/// begin() and finish() enclose backward passes; all ranks make the same ones.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  virtual void begin(Reduction reduction) = 0;
  /// Throws Error if a rank is lost or late.
  virtual void finish() = 0;
  /// Returns times of the last pass that was not kAccumulate, in launch order; empty if unknown. On a GPU
  /// call it after clock.await().
  virtual std::vector<BucketTimes> times(const WorkClock& clock) = 0;
  /// Reached by the first averaging pass on no rank; not reduced.
  virtual std::vector<std::string> unused() const = 0;
};

/// Overlaps averaging with the backward pass. Gradients are views of buckets; a full bucket is reduced at
/// once, in the same order on all ranks. The first averaging pass observes the gradient order of the group's
/// first rank for later buckets; a parameter unused then that gets a gradient later causes an Error. The
/// parameters are on the group's device and must not be replaced.
std::unique_ptr<GradientReducer> bucket_reducer(const std::vector<Parameter>& parameters,
                                                dtensor::Group group, std::int64_t bucket_bytes);

/// c10d::Reducer as in PyTorch's DistributedDataParallel. Treats kLocal as kAccumulate, reports no times.
/// Throws Error for one rank, or if not built.
std::unique_ptr<GradientReducer> c10d_reducer(const std::vector<Parameter>& parameters, dtensor::Group group,
                                              std::int64_t bucket_bytes);

}  // namespace headroom::torch_runner
