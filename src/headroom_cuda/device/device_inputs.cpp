// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/device/device_inputs.h"

#include <fmt/format.h>

namespace headroom::cuda {

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
  if (size > kMost)
    state.skip(fmt::format("{} {} are more than the 2^31 that the kernel counts", size, what));
  return static_cast<std::uint32_t>(size);
}

}  // namespace headroom::cuda
