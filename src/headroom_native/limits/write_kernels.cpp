// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/write_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <stdexcept>
#include <string>

#include "headroom_native/kernels/cache_line.h"
#include "headroom_native/kernels/unroll.h"

namespace headroom::native {
namespace {

constexpr std::size_t kUnroll = 8;

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
WriteKernel kernel_of(std::string_view pattern) {
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

/// Bytes that dc zva clears; 0 where the kernel forbids it.
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

}  // namespace

WriteKernel zero_kernel() {
#if defined(__x86_64__)
  if (cpu_has_clzero()) return clear_lines;
#elif defined(__aarch64__)
  if (zero_block() == kLineBytes) return clear_lines;
#endif
  return nullptr;
}

WriteKernel write_kernel(std::string_view pattern, Isa isa) {
  return with_widest_line(isa, [&]<typename Line>() { return kernel_of<Line>(pattern); });
}

}  // namespace headroom::native
