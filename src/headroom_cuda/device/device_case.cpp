// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/device/device_case.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

void require_within(std::size_t wanted, std::size_t available, const char* what) {
  if (wanted <= available) return;
  throw Error(fmt::format("{} of {} bytes in a device buffer of {} bytes", what, wanted, available));
}

}  // namespace

DeviceBuffer::DeviceBuffer(const State& state, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMalloc(reinterpret_cast<void**>(&data_), bytes);
  if (status != cudaErrorMemoryAllocation) {
    check(status, "cudaMalloc");
    return;
  }
  cudaGetLastError();
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  state.skip(fmt::format("needs {} of device memory, {} available", format_bytes(static_cast<double>(bytes)),
                         format_bytes(static_cast<double>(available))));
}

DeviceBuffer::~DeviceBuffer() {
  cudaFree(data_);
}

void DeviceBuffer::poison() {
  check(cudaMemset(data_, 0xff, bytes_), "cudaMemset");
  // cudaMemset and pageable copies may return early, and our streams do not wait for them.
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void DeviceBuffer::upload_bytes(std::span<const std::byte> from, std::size_t offset) {
  require_within(from.size() + offset, bytes_, "an upload up to the end");
  check(cudaMemcpy(data_ + offset, from.data(), from.size(), cudaMemcpyHostToDevice),
        "cudaMemcpy to the device");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void DeviceBuffer::upload_rows(const std::byte* from, std::size_t rows, std::size_t row_bytes,
                               std::size_t offset, std::size_t pitch) {
  if (rows == 0) return;
  require_within(offset + (rows - 1) * pitch + row_bytes, bytes_, "an upload of rows up to the end");
  check(cudaMemcpy2D(data_ + offset, pitch, from, row_bytes, row_bytes, rows, cudaMemcpyHostToDevice),
        "cudaMemcpy2D to the device");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void DeviceBuffer::download_bytes(std::span<std::byte> to) const {
  require_within(to.size(), bytes_, "a download");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaMemcpy(to.data(), data_, to.size(), cudaMemcpyDeviceToHost), "cudaMemcpy to the host");
}

DeviceCopies::DeviceCopies(const State& state, const InputCopies& copies)
    : bytes_(copies.bytes()),
      stride_(InputCopies::stride_of(copies.bytes())),
      memory_(state, stride_ * (copies.copies() - 1) + bytes_) {
  for (std::size_t i = 0; i < copies.copies(); ++i) {
    memory_.upload(std::span<const std::byte>(copies.copy(i), bytes_), i * stride_);
  }
}

std::shared_ptr<const DeviceCopies> shared_copies(State& state, const std::string& name,
                                                  const InputCopies& copies) {
  const std::string key = fmt::format("{} seed={} copies={}", name, state.seed(), copies.copies());
  return state.shared<DeviceCopies>(key, [&] { return std::make_shared<DeviceCopies>(state, copies); });
}

std::uint32_t device_size(const State& state, std::size_t size, const char* what) {
  constexpr std::size_t kMost = std::size_t{1} << 31;
  if (size > kMost) state.skip(fmt::format("{} {} exceed the kernel's limit of 2^31", size, what));
  return static_cast<std::uint32_t>(size);
}

}  // namespace headroom::cuda
