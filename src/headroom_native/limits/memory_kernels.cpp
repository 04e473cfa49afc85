// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/memory_kernels.h"

#include <stdexcept>
#include <string>

#include "headroom_native/kernels/code_generation.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headroom::native {
namespace {

constexpr std::size_t kUnroll = 8;
constexpr std::size_t kStreams = 4;
/// Bandwidth times loaded latency of a server core, rounded up.
constexpr std::size_t kReadPrefetchDistance = 6144;
constexpr std::size_t kStreamPrefetchDistance = 2048;

template <typename Line>
[[gnu::always_inline]] inline void read_lines(const std::byte* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes) Line::load(data + at);
}

template <typename Line, bool kPrefetch>
void read_linear(const std::byte* data, std::size_t bytes) {
  const std::byte* const end = data + bytes / (kUnroll * kLineBytes) * (kUnroll * kLineBytes);
  for (; data != end; data += kUnroll * kLineBytes) {
    HEADROOM_UNROLL(8)
    for (std::size_t i = 0; i < kUnroll; ++i) {
      if constexpr (kPrefetch) __builtin_prefetch(data + i * kLineBytes + kReadPrefetchDistance, 0, 3);
      Line::load(data + i * kLineBytes);
    }
  }
  read_lines<Line>(data, bytes % (kUnroll * kLineBytes));
  Line::finish();
}

/// Prefetches past L1, where lines of four streams would evict each other.
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
ReadKernel choose_read(std::string_view pattern) {
  if (pattern == "linear") return read_linear<Line, false>;
  if (pattern == "streams") return read_streams<Line, false>;
  if (pattern == "streams_prefetch") return read_streams<Line, true>;
  if (pattern == "prefetch") return read_linear<Line, true>;
  throw std::logic_error("no read pattern " + std::string(pattern));
}

template <typename Line, bool kNontemporal>
[[gnu::always_inline]] inline void write_line(std::byte* to) {
  if constexpr (kNontemporal) {
    Line::stream(to);
  } else {
    Line::store(to);
  }
}

template <typename Line, bool kNontemporal>
void write_all(std::byte* data, std::size_t bytes) {
  std::byte* const end = data + bytes;
  std::byte* const end_of_blocks = data + bytes / (kUnroll * kLineBytes) * (kUnroll * kLineBytes);
  for (; data != end_of_blocks; data += kUnroll * kLineBytes) {
    HEADROOM_UNROLL(8)
    for (std::size_t i = 0; i < kUnroll; ++i) write_line<Line, kNontemporal>(data + i * kLineBytes);
  }
  for (; data != end; data += kLineBytes) write_line<Line, kNontemporal>(data);
  Line::finish();
}

template <typename Line>
WriteKernel choose_write(std::string_view pattern) {
  if (pattern == "plain") return write_all<Line, false>;
  if (pattern == "nontemporal") return write_all<Line, true>;
  throw std::logic_error("no write pattern " + std::string(pattern));
}

#if defined(__x86_64__)

bool cpu_has_clzero() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000008, &a, &b, &c, &d) != 0 && (b & 1) != 0;
}

void clear_lines(std::byte* data, std::size_t bytes) {
  for (std::byte* const end = data + bytes; data != end; data += kLineBytes) {
    asm volatile("clzero" : : "a"(data) : "memory");
  }
}

#elif defined(__aarch64__)

/// Returns the bytes that dc zva clears; 0 if the operating system forbids it.
std::size_t zero_block() {
  std::uint64_t id = 0;
  asm("mrs %0, dczid_el0" : "=r"(id));
  return (id >> 4 & 1) != 0 ? 0 : std::size_t{4} << (id & 15);
}

void clear_lines(std::byte* data, std::size_t bytes) {
  for (std::byte* const end = data + bytes; data != end; data += kLineBytes) {
    asm volatile("dc zva, %0" : : "r"(data) : "memory");
  }
}

#endif

constexpr std::size_t kCopyPrefetchDistance = 4096;

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
      if constexpr (kPrefetch) __builtin_prefetch(source + kCopyPrefetchDistance, 0, 3);
      copy_line<Line, kNontemporal>(to + at + i * kLineBytes, source);
    }
  }
  for (; at < bytes; at += kLineBytes) copy_line<Line, kNontemporal>(to + at, from + at);
  Line::finish();
}

template <typename Line>
CopyKernel choose_copy(std::string_view pattern) {
  if (pattern == "plain") return copy_all<Line, false, false>;
  if (pattern == "nontemporal") return copy_all<Line, true, false>;
  if (pattern == "prefetch") return copy_all<Line, true, true>;
  throw std::logic_error("no copy pattern " + std::string(pattern));
}

}  // namespace

ReadKernel read_kernel(std::string_view pattern, Isa isa) {
  return with_widest_line(isa, [&]<typename Line>() { return choose_read<Line>(pattern); });
}

WriteKernel zero_kernel() {
#if defined(__x86_64__)
  if (cpu_has_clzero()) return clear_lines;
#elif defined(__aarch64__)
  if (zero_block() == kLineBytes) return clear_lines;
#endif
  return nullptr;
}

WriteKernel write_kernel(std::string_view pattern, Isa isa) {
  return with_widest_line(isa, [&]<typename Line>() { return choose_write<Line>(pattern); });
}

CopyKernel copy_kernel(std::string_view pattern, Isa isa) {
  return with_widest_line(isa, [&]<typename Line>() { return choose_copy<Line>(pattern); });
}

}  // namespace headroom::native
