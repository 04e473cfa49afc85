// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/work_clock.h"

#include <chrono>

namespace headroom::torch_runner {

std::int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void WorkClock::restart() {
  if (is_cpu()) return;
  dtensor::await_device(device_);
  started_ = dtensor::record_event(device_);
  dtensor::await_event(started_);
  started_ns_ = steady_now_ns();
}

Moment WorkClock::now() const {
  if (is_cpu()) return {steady_now_ns()};
  return {0, dtensor::record_event(device_)};
}

void WorkClock::await() const {
  if (!is_cpu()) dtensor::await_device(device_);
}

std::int64_t WorkClock::ns(const Moment& moment) const {
  return moment.event ? started_ns_ + dtensor::elapsed_ns(started_, moment.event) : moment.ns;
}

}  // namespace headroom::torch_runner
