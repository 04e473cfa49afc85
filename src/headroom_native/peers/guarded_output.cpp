// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/guarded_output.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::native {
namespace {

/// As wide as the stores of some rows of a kernel that counts them wrongly.
constexpr std::size_t kZone = 4096;
constexpr std::size_t kLine = 64;
/// Neither a zero nor bytes of a float that a kernel would store.
constexpr std::byte kMark{0xA5};

std::size_t stride_of(std::size_t values) {
  return (values * sizeof(Bf16) + kLine - 1) / kLine * kLine + kZone;
}

}  // namespace

std::size_t GuardedOutput::bytes_for(std::size_t values, std::size_t copies) {
  return kZone + copies * stride_of(values);
}

GuardedOutput::GuardedOutput(std::size_t values, std::size_t copies)
    : values_(values), copies_(copies), stride_(stride_of(values)), memory_(bytes_for(values, copies)) {
  const auto all = memory_.as<std::byte>();
  std::ranges::fill(all, kMark);
}

std::span<Bf16> GuardedOutput::copy(std::size_t index) {
  return {reinterpret_cast<Bf16*>(memory_.data() + kZone + index * stride_), values_};
}

std::string GuardedOutput::damage() const {
  const std::size_t bytes = values_ * sizeof(Bf16);
  const auto all = memory_.as<std::byte>();
  const auto is_changed = [](std::byte byte) { return byte != kMark; };
  const auto before = all.first(kZone);
  if (const auto count = std::ranges::count_if(before, is_changed); count > 0) {
    const auto first = std::ranges::find_if(before, is_changed) - before.begin();
    return fmt::format("writes outside of y: {} bytes of those before it, from {} bytes before its start on",
                       count, kZone - static_cast<std::size_t>(first));
  }
  for (std::size_t index = 0; index < copies_; ++index) {
    const auto behind = all.subspan(kZone + index * stride_ + bytes, stride_ - bytes);
    const auto count = std::ranges::count_if(behind, is_changed);
    if (count == 0) continue;
    const auto first = std::ranges::find_if(behind, is_changed) - behind.begin();
    return fmt::format("writes outside of y: {} bytes of those behind it, from {} bytes behind its end on",
                       count, first);
  }
  return {};
}

}  // namespace headroom::native
