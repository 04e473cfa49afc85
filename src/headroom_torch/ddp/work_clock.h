// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "headroom_torch/dtensor/device_events.h"

namespace headroom::torch_runner {

/// When work was done that this process gave to its device. On the CPU that is known at once; a GPU passes an
/// event, whose time can be asked for when it did.
struct Moment {
  std::int64_t ns = 0;  ///< of the steady clock, where there is no event
  dtensor::DeviceEvent event{};
};

/// The steady clock, now.
std::int64_t steady_now_ns();

/// Times of one device's work in nanoseconds of the steady clock.
class WorkClock {
 public:
  explicit WorkClock(c10::Device device) : device_(device) {}

  c10::Device device() const { return device_; }
  bool is_cpu() const { return device_.is_cpu(); }

  /// Waits until the device has nothing to do; times are counted from there, which keeps them exact.
  void restart();
  /// When what this thread gave to the device so far is done.
  Moment now() const;
  /// Until all that was given to the device is done.
  void await() const;
  /// After await(), or where the moment is known to have passed.
  std::int64_t ns(const Moment& moment) const;

 private:
  c10::Device device_;
  std::int64_t started_ns_ = 0;
  dtensor::DeviceEvent started_;
};

}  // namespace headroom::torch_runner
