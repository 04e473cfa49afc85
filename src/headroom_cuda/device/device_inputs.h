// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom_cuda/device/device_buffer.h"

namespace headroom::cuda {

/// The copies of an input on the device, as far apart as on the host.
class DeviceCopies {
 public:
  /// Uploads them. Skips the case where the device has not as much memory.
  DeviceCopies(const State& state, const InputCopies& copies);

  const std::byte* copy(std::size_t index) const { return memory_.data() + index * stride_; }
  /// Of the memory of that copy.
  const std::byte* end(std::size_t index) const { return copy(index) + bytes_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t stride() const { return stride_; }

 private:
  std::size_t bytes_, stride_;
  DeviceBuffer memory_;
};

/// The same object for every case of this runner that has these inputs and lives now. `name` says which of
/// the experiment's inputs, and the axes that it depends on.
std::shared_ptr<const DeviceCopies> shared_copies(State& state, const std::string& name,
                                                  const InputCopies& copies);

/// A buffer that holds `values`.
template <typename T>
DeviceBuffer uploaded(const State& state, const std::vector<T>& values) {
  DeviceBuffer buffer(state, values.size() * sizeof(T));
  buffer.upload(values);
  return buffer;
}

/// `size` as the kernels count. Skips the case where it is more than they can: `what` says of what it is.
std::uint32_t device_size(const State& state, std::size_t size, const char* what);

}  // namespace headroom::cuda
