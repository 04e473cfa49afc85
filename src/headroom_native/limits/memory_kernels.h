// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headroom_native/kernels/isa.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/// Moves of cache lines. Assembly with named registers: the compiler cannot drop loads, turn stores into
/// memset, or spill.
namespace headroom::native {

constexpr std::size_t kLineBytes = 64;

constexpr std::size_t kHalfLine = kLineBytes / 2;

template <std::size_t kBytes>
struct [[gnu::may_alias]] MemoryOperand {
  std::uint64_t words[kBytes / 8];
};
inline const MemoryOperand<kLineBytes>& line_at(const std::byte* place) {
  return *reinterpret_cast<const MemoryOperand<kLineBytes>*>(place);
}
inline MemoryOperand<kLineBytes>& line_at(std::byte* place) {
  return *reinterpret_cast<MemoryOperand<kLineBytes>*>(place);
}
inline const MemoryOperand<kHalfLine>& half_line_at(const std::byte* place) {
  return *reinterpret_cast<const MemoryOperand<kHalfLine>*>(place);
}
inline MemoryOperand<kHalfLine>& half_line_at(std::byte* place) {
  return *reinterpret_cast<MemoryOperand<kHalfLine>*>(place);
}

#if defined(__x86_64__)

/// Stores produce all-ones each time: no register survives between the statements.
#define HEADROOM_AVX512_MOVES(store, copy, move)                                  \
  [[gnu::always_inline]] static void store(std::byte* to) {                       \
    asm volatile("vpternlogd $255, %%zmm1, %%zmm1, %%zmm0\n\t" move " %%zmm0, %0" \
                 : "=m"(line_at(to))                                              \
                 :                                                                \
                 : "xmm0");                                                       \
  }                                                                               \
  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from) { \
    asm volatile("vmovaps %1, %%zmm0\n\t" move " %%zmm0, %0"                      \
                 : "=m"(line_at(to))                                              \
                 : "m"(line_at(from))                                             \
                 : "xmm0");                                                       \
  }
struct Avx512Line {
  [[gnu::always_inline]] static void load(const std::byte* from) {
    asm volatile("vmovaps %0, %%zmm0" : : "m"(line_at(from)) : "xmm0");
  }
  HEADROOM_AVX512_MOVES(store, copy, "vmovaps")
  HEADROOM_AVX512_MOVES(stream, stream_copy, "vmovntps")
  /// Call after the last move: avoids the SSE transition penalty.
  [[gnu::always_inline]] static void finish() { asm volatile("vzeroupper" : : : "xmm0", "xmm1"); }
};
#undef HEADROOM_AVX512_MOVES

#define HEADROOM_AVX2_MOVES(store, copy, move)                                                            \
  [[gnu::always_inline]] static void store(std::byte* to) {                                               \
    asm volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\t" move " %%ymm0, %0\n\t" move " %%ymm0, %1"          \
                 : "=m"(half_line_at(to)), "=m"(half_line_at(to + kHalfLine))                             \
                 :                                                                                        \
                 : "xmm0");                                                                               \
  }                                                                                                       \
  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from) {                         \
    asm volatile("vmovaps %2, %%ymm0\n\tvmovaps %3, %%ymm1\n\t" move " %%ymm0, %0\n\t" move " %%ymm1, %1" \
                 : "=m"(half_line_at(to)), "=m"(half_line_at(to + kHalfLine))                             \
                 : "m"(half_line_at(from)), "m"(half_line_at(from + kHalfLine))                           \
                 : "xmm0", "xmm1");                                                                       \
  }
struct Avx2Line {
  [[gnu::always_inline]] static void load(const std::byte* from) {
    asm volatile("vmovaps %0, %%ymm0\n\tvmovaps %1, %%ymm1"
                 :
                 : "m"(half_line_at(from)), "m"(half_line_at(from + kHalfLine))
                 : "xmm0", "xmm1");
  }
  HEADROOM_AVX2_MOVES(store, copy, "vmovaps")
  HEADROOM_AVX2_MOVES(stream, stream_copy, "vmovntps")
  [[gnu::always_inline]] static void finish() { asm volatile("vzeroupper" : : : "xmm0", "xmm1"); }
};
#undef HEADROOM_AVX2_MOVES

#endif

#if defined(__aarch64__)

#define HEADROOM_NEON_MOVES(store, copy, pair)                                                    \
  [[gnu::always_inline]] static void store(std::byte* to) {                                       \
    asm volatile("movi v0.16b, #255\n\t" pair " q0, q0, %0\n\t" pair " q0, q0, %1"                \
                 : "=Ump"(half_line_at(to)), "=Ump"(half_line_at(to + kHalfLine))                 \
                 :                                                                                \
                 : "v0");                                                                         \
  }                                                                                               \
  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from) {                 \
    asm volatile("ldp q0, q1, %2\n\tldp q2, q3, %3\n\t" pair " q0, q1, %0\n\t" pair " q2, q3, %1" \
                 : "=Ump"(half_line_at(to)), "=Ump"(half_line_at(to + kHalfLine))                 \
                 : "Ump"(half_line_at(from)), "Ump"(half_line_at(from + kHalfLine))               \
                 : "v0", "v1", "v2", "v3");                                                       \
  }
struct BaselineLine {
  [[gnu::always_inline]] static void load(const std::byte* from) {
    asm volatile("ldp q0, q1, %0\n\tldp q2, q3, %1"
                 :
                 : "Ump"(half_line_at(from)), "Ump"(half_line_at(from + kHalfLine))
                 : "v0", "v1", "v2", "v3");
  }
  HEADROOM_NEON_MOVES(store, copy, "stp")
  HEADROOM_NEON_MOVES(stream, stream_copy, "stnp")
  [[gnu::always_inline]] static void finish() {}
};
#undef HEADROOM_NEON_MOVES

#define HEADROOM_SVE ".arch armv8.2-a+sve\n\t"
/// `same` stores z0 alone; `stores` the loaded vectors.
#define HEADROOM_SVE_MOVES(store, copy, loads, stores, same)                                        \
  [[gnu::always_inline]] static void store(std::byte* to) {                                         \
    asm volatile(HEADROOM_SVE "mov z0.b, #-1\n\t" same : "=m"(line_at(to)) : "r"(to) : "v0", "p0"); \
  }                                                                                                 \
  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from) {                   \
    asm volatile(HEADROOM_SVE loads "\n\t" stores                                                   \
                 : "=m"(line_at(to))                                                                \
                 : "r"(to), "r"(from), "m"(line_at(from))                                           \
                 : "v0", "v1", "p0");                                                               \
  }
#define HEADROOM_STREAM "ptrue p0.b\n\tstnt1b {z0.b}, p0, [%1]"

struct Sve512Line {
  [[gnu::always_inline]] static void load(const std::byte* from) {
    asm volatile(HEADROOM_SVE "ldr z0, [%0]" : : "r"(from), "m"(line_at(from)) : "v0");
  }
  HEADROOM_SVE_MOVES(store, copy, "ldr z0, [%2]", "str z0, [%1]", "str z0, [%1]")
  HEADROOM_SVE_MOVES(stream, stream_copy, "ldr z0, [%2]", HEADROOM_STREAM, HEADROOM_STREAM)
  [[gnu::always_inline]] static void finish() {}
};

struct Sve256Line {
  [[gnu::always_inline]] static void load(const std::byte* from) {
    asm volatile(HEADROOM_SVE "ldr z0, [%0]\n\tldr z1, [%0, #1, mul vl]"
                 :
                 : "r"(from), "m"(line_at(from))
                 : "v0", "v1");
  }
  HEADROOM_SVE_MOVES(store, copy, "ldr z0, [%2]\n\tldr z1, [%2, #1, mul vl]",
                     "str z0, [%1]\n\tstr z1, [%1, #1, mul vl]", "str z0, [%1]\n\tstr z0, [%1, #1, mul vl]")
  HEADROOM_SVE_MOVES(stream, stream_copy, "ldr z0, [%2]\n\tldr z1, [%2, #1, mul vl]",
                     HEADROOM_STREAM "\n\tstnt1b {z1.b}, p0, [%1, #1, mul vl]",
                     HEADROOM_STREAM "\n\tstnt1b {z0.b}, p0, [%1, #1, mul vl]")
  [[gnu::always_inline]] static void finish() {}
};

#undef HEADROOM_STREAM
#undef HEADROOM_SVE_MOVES
#undef HEADROOM_SVE

#else

/// The widest moves that the compiler may assume.
struct BaselineLine {
#if defined(__x86_64__)
  using Word = __m128i;
  [[gnu::always_inline]] static void use(Word word) {
    asm volatile("" : : "x"(word));
  }
  [[gnu::always_inline]] static Word ones() {
    return _mm_set1_epi32(-1);
  }
  [[gnu::always_inline]] static void store_nontemporal(Word* to, Word word) {
    _mm_stream_si128(to, word);
  }
#else
  using Word = std::uint64_t;
  [[gnu::always_inline]] static void use(Word word) {
    asm volatile("" : : "r"(word));
  }
  [[gnu::always_inline]] static Word ones() {
    return ~Word{0};
  }
  [[gnu::always_inline]] static void store_nontemporal(Word* to, Word word) {
    *to = word;
  }
#endif
  static constexpr std::size_t kWords = kLineBytes / sizeof(Word);

  [[gnu::always_inline]] static void load(const std::byte* from) {
    for (std::size_t i = 0; i < kWords; ++i) use(reinterpret_cast<const Word*>(from)[i]);
  }
  [[gnu::always_inline]] static void store(std::byte* to) {
    for (std::size_t i = 0; i < kWords; ++i) reinterpret_cast<Word*>(to)[i] = opaque(ones());
  }
  [[gnu::always_inline]] static void stream(std::byte* to) {
    for (std::size_t i = 0; i < kWords; ++i) store_nontemporal(reinterpret_cast<Word*>(to) + i, ones());
  }
  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from) {
    for (std::size_t i = 0; i < kWords; ++i) {
      reinterpret_cast<Word*>(to)[i] = opaque(reinterpret_cast<const Word*>(from)[i]);
    }
  }
  [[gnu::always_inline]] static void stream_copy(std::byte* to, const std::byte* from) {
    for (std::size_t i = 0; i < kWords; ++i) {
      store_nontemporal(reinterpret_cast<Word*>(to) + i, reinterpret_cast<const Word*>(from)[i]);
    }
  }
  [[gnu::always_inline]] static void finish() {}

 private:
  [[gnu::always_inline]] static Word opaque(Word word) {
    use(word);
    return word;
  }
};

#endif

template <typename Choose>
auto with_widest_line([[maybe_unused]] Isa isa, Choose choose) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return choose.template operator()<Avx512Line>();
  if (isa >= Isa::kAvx2) return choose.template operator()<Avx2Line>();
#elif defined(__aarch64__)
  if (isa >= Isa::kSve && sve_bytes() == kLineBytes) return choose.template operator()<Sve512Line>();
  if (isa >= Isa::kSve && sve_bytes() == kHalfLine) return choose.template operator()<Sve256Line>();
#endif
  return choose.template operator()<BaselineLine>();
}

#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool kHasNontemporalStores = true;
#else
constexpr bool kHasNontemporalStores = false;
#endif

/// Waits for this thread's non-temporal stores.
inline void store_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

/// `data` is aligned to 64 bytes; `bytes` is a multiple of 64.
using ReadKernel = void (*)(const std::byte* data, std::size_t bytes);

/// `pattern`: "linear" (one stream), "streams" (four, a quarter each), "prefetch" (one, by software),
/// "streams_prefetch" (four, past L1). Throws std::logic_error otherwise.
ReadKernel read_kernel(std::string_view pattern, Isa isa);

/// Sets all bits. `data` is aligned to 64 bytes; `bytes` is a multiple of 64. Call store_fence() at the end.
using WriteKernel = void (*)(std::byte* data, std::size_t bytes);

/// `pattern`: "plain" or "nontemporal" (bypasses the caches). Throws std::logic_error otherwise.
WriteKernel write_kernel(std::string_view pattern, Isa isa);

/// clzero (AMD) or dc zva (aarch64), in whole lines; null without them. May be faster than any store: no
/// bound for kernels that write values.
WriteKernel zero_kernel();

/// `bytes` is a multiple of 64; the ranges are aligned to 64 and do not overlap. Call store_fence() at the
/// end.
using CopyKernel = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

/// `pattern`: "plain", "nontemporal" (bypasses the caches), "prefetch" (nontemporal, software prefetch of the
/// source). Throws std::logic_error otherwise.
CopyKernel copy_kernel(std::string_view pattern, Isa isa);

}  // namespace headroom::native
