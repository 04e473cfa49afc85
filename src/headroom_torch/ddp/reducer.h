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

/// The time at which work of this process's device was done: known at once on the CPU, an event on a GPU.
struct Moment {
  std::int64_t ns = 0;  ///< of the steady clock, if there is no event
  dtensor::DeviceEvent event{};
};

/// Current time of the steady clock.
std::int64_t steady_now_ns();

/// Times of one device's work in nanoseconds of the steady clock.
class WorkClock {
 public:
  explicit WorkClock(c10::Device device) : device_(device) {}

  c10::Device device() const { return device_; }
  bool is_cpu() const { return device_.is_cpu(); }

  /// Waits until the device is idle and makes that the origin of GPU times, which keeps them exact.
  void restart();
  /// The moment at which the work enqueued so far by this thread is done.
  Moment now() const;
  /// Waits for all work of the device.
  void await() const;
  /// Call it after await(), or when the moment is known to have passed.
  std::int64_t ns(const Moment& moment) const;

 private:
  c10::Device device_;
  std::int64_t started_ns_ = 0;
  dtensor::DeviceEvent started_;
};

/// A collective in flight.
class PendingCall {
 public:
  /// Waits for the collective. On a GPU the current stream waits and the host does not. Throws Error naming
  /// `what` and the ranks if it failed or timed out. Does nothing if none was started.
  void wait(const dtensor::Group& group, const char* what);
  /// Whether a collective was started and completed() was not called.
  bool is_started() const { return state_ != nullptr; }
  /// Returns the time of completion and resets this. Call it after wait(), and on a GPU after
  /// WorkClock::await(). Throws std::logic_error if nothing was started.
  Moment completed();

 private:
  struct State;
  friend PendingCall start_sum(const dtensor::Group&, const at::Tensor&);
  std::shared_ptr<State> state_;
};

/// Starts an in-place sum of `flat` over the ranks. The group has more than one rank.
PendingCall start_sum(const dtensor::Group& group, const at::Tensor& flat);

// These do nothing for a group of one rank, and throw Error if a rank is lost or late. Numbers on the CPU
// are exchanged through the group's device.
void meet(const dtensor::Group& group);  ///< a barrier
void copy_of_first(const dtensor::Group& group, at::Tensor tensor);
void copy_of_first(const dtensor::Group& group, std::vector<std::int64_t>& numbers);
void largest_of(const dtensor::Group& group, std::vector<std::int64_t>& numbers);
/// Throws Error on all ranks if the checksum of a rank differs from the first rank's: "rank 1 has other
/// parameters than rank 0" for the `what` "other parameters".
void require_same(const dtensor::Group& group, std::uint64_t checksum, const std::string& what);

/// Limit of the first bucket, small so that the first reduction starts early, as in PyTorch's DDP.
inline constexpr std::int64_t kFirstBucketBytes = 1 << 20;

/// Cuts `order` into buckets of gradients. A bucket is closed once it holds at least its limit; the limit of
/// the first is min(kFirstBucketBytes, limit). `bytes` is indexed by parameter.
std::vector<std::vector<std::size_t>> plan_buckets(const std::vector<std::size_t>& order,
                                                   const std::vector<std::int64_t>& bytes,
                                                   std::int64_t limit);

/// Treatment of the gradients of a backward pass.
enum class Reduction {
  kAverage,     ///< each becomes the mean over the ranks
  kLocal,       ///< the same work in this process, but nothing is sent
  kAccumulate,  ///< they add up until the next averaging pass (DDP's no_sync)
};

/// Launch and completion of a bucket in nanoseconds of the steady clock. On a GPU: when its gradients were
/// ready to be sent, and when their sum was ready.
struct BucketTimes {
  std::int64_t bytes = 0, tensors = 0;
  std::int64_t launched_ns = 0, completed_ns = 0;
};

/// Averages the gradients of a model over ranks. Every backward pass is enclosed by begin() and finish(); all
/// ranks make the same sequence of passes with the same Reductions.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  virtual void begin(Reduction reduction) = 0;
  /// Waits for the reductions in flight. Throws Error if a rank is lost or late.
  virtual void finish() = 0;
  /// Times of the last pass that was not kAccumulate, in launch order; empty if unknown. On a GPU call it
  /// after clock.await().
  virtual std::vector<BucketTimes> times(const WorkClock& clock) = 0;
  /// Names of the parameters that no rank's first averaging pass reached; they are not reduced.
  virtual std::vector<std::string> unused() const = 0;
};

/// Headroom's reducer, which overlaps averaging with the backward pass. Gradients are views of buckets; a
/// full bucket is reduced at once, in the same order on all ranks. The first averaging pass observes the
/// order of gradients on the group's first rank, and the buckets of later passes follow it. A parameter that
/// was unused then and gets a gradient later causes an Error in that pass. Gradients that are undefined
/// before a pass are copied into their bucket without an addition.
///
/// `group` may have one rank. The parameters are on its device and must not be replaced while this lives.
std::unique_ptr<GradientReducer> bucket_reducer(const std::vector<Parameter>& parameters,
                                                dtensor::Group group, std::int64_t bucket_bytes);

/// c10d::Reducer as configured by PyTorch's DistributedDataParallel, with gradients as views of buckets; for
/// comparison. It treats kLocal as kAccumulate and reports no times. Throws Error for one rank, or if it was
/// not built.
std::unique_ptr<GradientReducer> c10d_reducer(const std::vector<Parameter>& parameters, dtensor::Group group,
                                              std::int64_t bucket_bytes);

}  // namespace headroom::torch_runner
