// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Memory of the device, freed with this. Its copies from and to the host have ended when they return.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// `bytes` of memory, uninitialised, aligned to 256 bytes. Skips the case, saying both sizes, where the
  /// device has not as much; throws Error where the allocation fails for another reason.
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
  /// The same as an array: kernel<<<...>>>(buffer.as<const float>()).
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

  /// Copies `values` to the buffer, `offset` bytes into it. Throws Error where they do not fit.
  template <typename T>
  void upload(std::span<const T> values, std::size_t offset = 0) {
    upload_bytes(std::as_bytes(values), offset);
  }
  template <typename T>
  void upload(const std::vector<T>& values, std::size_t offset = 0) {
    upload(std::span<const T>(values), offset);
  }
  /// Copies `rows` of `row_bytes` that follow one another to rows that begin `pitch` bytes apart, the first
  /// of them `offset` bytes into the buffer. Throws Error where they do not fit.
  void upload_rows(const std::byte* from, std::size_t rows, std::size_t row_bytes, std::size_t offset,
                   std::size_t pitch);
  /// Copies from the start of the buffer into `values`. Throws Error where it has fewer.
  template <typename T>
  void download(std::span<T> values) const {
    download_bytes(std::as_writable_bytes(values));
  }
  /// Fills the whole buffer with 0xff: a NaN in every floating-point type.
  void poison();

 private:
  void upload_bytes(std::span<const std::byte> from, std::size_t offset);
  void download_bytes(std::span<std::byte> to) const;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace headroom::cuda
