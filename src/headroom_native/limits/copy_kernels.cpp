// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/copy_kernels.h"

#include <stdexcept>
#include <string>

#include "headroom_native/kernels/cache_line.h"
#include "headroom_native/kernels/unroll.h"

namespace headroom::native {
namespace {

constexpr std::size_t kUnroll = 8;
constexpr std::size_t kPrefetchDistance = 4096;

template <typename Line, bool kNontemporal>
[[gnu::always_inline]] inline void copy_line(std::byte* to, const std::byte* from) {
  if constexpr (kNontemporal) {
    Line::stream_copy(to, from);
  } else {
    Line::copy(to, from);
  }
}

template <typename Line, bool kNontemporal, bool kPrefetch>
void copy_all(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kBlock = kUnroll * kLineBytes;
  std::size_t at = 0;
  for (; at + kBlock <= bytes; at += kBlock) {
    HEADROOM_UNROLL(8)
    for (std::size_t i = 0; i < kUnroll; ++i) {
      const std::byte* const source = from + at + i * kLineBytes;
      if constexpr (kPrefetch) __builtin_prefetch(source + kPrefetchDistance, 0, 3);
      copy_line<Line, kNontemporal>(to + at + i * kLineBytes, source);
    }
  }
  for (; at < bytes; at += kLineBytes) copy_line<Line, kNontemporal>(to + at, from + at);
  Line::finish();
}

template <typename Line>
CopyKernel kernel_of(std::string_view pattern) {
  if (pattern == "plain") return copy_all<Line, false, false>;
  if (pattern == "nontemporal") return copy_all<Line, true, false>;
  if (pattern == "prefetch") return copy_all<Line, true, true>;
  throw std::logic_error("no copy pattern " + std::string(pattern));
}

}  // namespace

CopyKernel copy_kernel(std::string_view pattern, Isa isa) {
  return with_widest_line(isa, [&]<typename Line>() { return kernel_of<Line>(pattern); });
}

}  // namespace headroom::native
