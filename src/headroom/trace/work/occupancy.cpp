// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/occupancy.h"

#include <algorithm>
#include <cmath>

namespace headroom::trace {
namespace {

const DeviceProperties* properties_of(const Trace& trace, const GpuDetail& kernel) {
  const auto found = std::ranges::find(trace.devices, device_of(trace, kernel), &DeviceProperties::id);
  return found == trace.devices.end() ? nullptr : &*found;
}

double volume(const std::uint32_t (&extent)[3]) {
  return static_cast<double>(extent[0]) * static_cast<double>(extent[1]) * static_cast<double>(extent[2]);
}

}  // namespace

std::optional<KernelNumber> blocks_per_multiprocessor(const Trace& trace, const GpuDetail& kernel) {
  if (kernel.blocks_per_sm >= 0 && std::isfinite(kernel.blocks_per_sm))
    return KernelNumber{static_cast<double>(kernel.blocks_per_sm), true};
  const DeviceProperties* const device = properties_of(trace, kernel);
  const double blocks = volume(kernel.grid);
  if (device == nullptr || device->multiprocessors <= 0 || blocks <= 0) return {};
  return KernelNumber{blocks / device->multiprocessors, false};
}

std::optional<KernelNumber> achieved_occupancy(const Trace& trace, const GpuDetail& kernel) {
  if (kernel.occupancy_percent >= 0 && std::isfinite(kernel.occupancy_percent))
    return KernelNumber{static_cast<double>(kernel.occupancy_percent) / 100, true};
  const DeviceProperties* const device = properties_of(trace, kernel);
  if (device == nullptr || device->max_warps_per_multiprocessor() <= 0) return {};
  double warps = kernel.warps_per_sm;
  if (warps < 0) {
    const auto blocks = blocks_per_multiprocessor(trace, kernel);
    const double threads = volume(kernel.block);
    if (!blocks || threads <= 0) return {};
    warps = blocks->value * std::ceil(threads / device->warp_size);
  }
  return KernelNumber{std::min(1.0, warps / device->max_warps_per_multiprocessor()), false};
}

}  // namespace headroom::trace
