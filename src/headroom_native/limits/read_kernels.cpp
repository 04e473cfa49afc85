// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/read_kernels.h"

#include <stdexcept>
#include <string>

#include "headroom_native/kernels/cache_line.h"
#include "headroom_native/kernels/unroll.h"

namespace headroom::native {
namespace {

constexpr std::size_t kUnroll = 8;
constexpr std::size_t kStreams = 4;
/// Bandwidth times loaded latency of a server core, with room: 6 KiB.
constexpr std::size_t kPrefetchDistance = 6144;
/// The same for each of the streams.
constexpr std::size_t kStreamPrefetchDistance = 2048;

template <typename Line>
[[gnu::always_inline]] inline void read_lines(const std::byte* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes) Line::load(data + at);
}

template <typename Line>
void read_linear(const std::byte* data, std::size_t bytes) {
  const std::byte* const end = data + bytes / (kUnroll * kLineBytes) * (kUnroll * kLineBytes);
  for (; data != end; data += kUnroll * kLineBytes) {
    HEADROOM_UNROLL(8)
    for (std::size_t i = 0; i < kUnroll; ++i) Line::load(data + i * kLineBytes);
  }
  read_lines<Line>(data, bytes % (kUnroll * kLineBytes));
  Line::finish();
}

/// Prefetched, the streams go past the first-level cache: lines of four streams that come ahead of their time
/// drive each other out of it.
template <typename Line, bool kPrefetch>
void read_streams(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kStep = 2 * kLineBytes;
  const std::size_t length = bytes / (kStreams * kStep) * kStep;
  const std::byte* const end = data + length;
  for (const std::byte* at = data; at != end; at += kStep) {
    HEADROOM_UNROLL(4)
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      if constexpr (kPrefetch) {
        __builtin_prefetch(at + stream * length + kStreamPrefetchDistance, 0, 2);
        __builtin_prefetch(at + stream * length + kStreamPrefetchDistance + kLineBytes, 0, 2);
      }
      Line::load(at + stream * length);
      Line::load(at + stream * length + kLineBytes);
    }
  }
  read_lines<Line>(data + kStreams * length, bytes - kStreams * length);
  Line::finish();
}

template <typename Line>
void read_prefetch(const std::byte* data, std::size_t bytes) {
  const std::byte* const end = data + bytes / (kUnroll * kLineBytes) * (kUnroll * kLineBytes);
  for (; data != end; data += kUnroll * kLineBytes) {
    HEADROOM_UNROLL(8)
    for (std::size_t i = 0; i < kUnroll; ++i) {
      __builtin_prefetch(data + i * kLineBytes + kPrefetchDistance, 0, 3);
      Line::load(data + i * kLineBytes);
    }
  }
  read_lines<Line>(data, bytes % (kUnroll * kLineBytes));
  Line::finish();
}

template <typename Line>
ReadKernel kernel_of(std::string_view pattern) {
  if (pattern == "linear") return read_linear<Line>;
  if (pattern == "streams") return read_streams<Line, false>;
  if (pattern == "streams_prefetch") return read_streams<Line, true>;
  if (pattern == "prefetch") return read_prefetch<Line>;
  throw std::logic_error("no read pattern " + std::string(pattern));
}

}  // namespace

ReadKernel read_kernel(std::string_view pattern, Isa isa) {
  return with_widest_line(isa, [&]<typename Line>() { return kernel_of<Line>(pattern); });
}

}  // namespace headroom::native
