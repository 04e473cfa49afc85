// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom_cuda/kernels/kernel_plan.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {

/// Copies are complete on return.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Uninitialised, aligned to 256 bytes. Skips the case if the device has less memory; throws Error for
  /// other failures.
  DeviceBuffer(const State& state, std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

  /// Throws Error if `values` do not fit from byte `offset` on.
  template <typename T>
  void upload(std::span<const T> values, std::size_t offset = 0) {
    upload_bytes(std::as_bytes(values), offset);
  }
  template <typename T>
  void upload(const std::vector<T>& values, std::size_t offset = 0) {
    upload(std::span<const T>(values), offset);
  }
  /// Copies to rows `pitch` bytes apart. Throws Error if they do not fit.
  void upload_rows(const std::byte* from, std::size_t rows, std::size_t row_bytes, std::size_t offset,
                   std::size_t pitch);
  /// Copies from the start. Throws Error if the buffer is smaller.
  template <typename T>
  void download(std::span<T> values) const {
    download_bytes(std::as_writable_bytes(values));
  }
  /// NaN in every floating-point type.
  void poison();

 private:
  void upload_bytes(std::span<const std::byte> from, std::size_t offset);
  void download_bytes(std::span<std::byte> to) const;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// An input on the device, with the host's stride.
class DeviceCopies {
 public:
  /// Skips the case without enough memory.
  DeviceCopies(const State& state, const InputCopies& copies);

  const std::byte* copy(std::size_t index) const { return memory_.data() + index * stride_; }
  const std::byte* end(std::size_t index) const { return copy(index) + bytes_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t stride() const { return stride_; }

 private:
  std::size_t bytes_, stride_;
  DeviceBuffer memory_;
};

/// Shared by this runner's live cases of the same `name`, which must identify input and axes.
std::shared_ptr<const DeviceCopies> shared_copies(State& state, const std::string& name,
                                                  const InputCopies& copies);

template <typename T>
DeviceBuffer uploaded(const State& state, const std::vector<T>& values) {
  DeviceBuffer buffer(state, values.size() * sizeof(T));
  buffer.upload(values);
  return buffer;
}

/// Skips the case if `size` exceeds the kernels' type; the message names it `what`.
std::uint32_t device_size(const State& state, std::size_t size, const char* what);

/// Poisons `y`, launches once on copy 0, and verifies the start of `y` (State::verify). `device`, `y` and the
/// referents of `launch` must outlive the measurement.
template <typename T>
void verify_on_device(State& state, Device& device, const Launch& launch, DeviceBuffer& y,
                      std::span<const double> expected, Tolerance tolerance) {
  const auto actual = std::make_shared<std::vector<T>>(expected.size());
  const auto run = [&device, &y, launch, actual] {
    y.poison();
    launch(0, device.stream());
    device.synchronize();
    y.download(std::span(*actual));
  };
  state.verify(run, std::span(*actual), expected, tolerance);
}

inline void require_start(const State& state, const Device& device, Start start) {
  if (start == Start::kAfterPrevious || device.compute_capability() >= 90) return;
  state.skip("early launches need compute capability 9.0 or newer");
}

/// Notes the variant. Skips the case if the device does not support it or another one was requested.
template <typename Plan>
const Plan& noted(State& state, const Device& device, const Plan& plan) {
  if (!state.variant().empty() && state.variant() != plan.name()) {
    state.skip("the variant " + quote(state.variant()) + " does not support rows this long; " +
               quote(plan.name()) + " does");
  }
  require_start(state, device, plan.start);
  state.note("variant", plan.name());
  return plan;
}

}  // namespace headroom::cuda
