// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemm_kernel.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstdint>

#include "headroom_native/kernels/amx_tiles.h"
#include "headroom_native/kernels/avx512_sums.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

namespace headroom::native {
namespace {

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512bf16")

constexpr std::size_t kColumns = 32;  // bf16 of one register
/// Eight loads for sixteen products, at two of each per cycle.
constexpr int kTile = 4;

[[gnu::always_inline]] inline __m512bh load(const Bf16* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}
[[gnu::always_inline]] inline __m512bh load_first(const Bf16* from, std::size_t count) {
  return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16((std::uint32_t{1} << count) - 1, from));
}

template <PrefetchHint kAhead>
[[gnu::always_inline]] inline void multiply_tile(const Bf16* const* rows, std::size_t columns,
                                                 const Bf16* const* vectors, std::size_t ahead,
                                                 __m128* tile) {
  __m512 sums[kTile][kTile];
  HEADROOM_UNROLL(4)
  for (int v = 0; v < kTile; ++v) {
    HEADROOM_UNROLL(4)
    for (int r = 0; r < kTile; ++r) sums[v][r] = _mm512_setzero_ps();
  }
  std::size_t k = 0;
  for (; k + kColumns <= columns; k += kColumns) {
    __m512bh parts[kTile];
    HEADROOM_UNROLL(4)
    for (int r = 0; r < kTile; ++r) {
      prefetch<kAhead>(reinterpret_cast<const std::byte*>(rows[r] + k) + ahead);
      parts[r] = load(rows[r] + k);
    }
    HEADROOM_UNROLL(4)
    for (int v = 0; v < kTile; ++v) {
      const __m512bh vector = load(vectors[v] + k);
      HEADROOM_UNROLL(4)
      for (int r = 0; r < kTile; ++r) sums[v][r] = _mm512_dpbf16_ps(sums[v][r], parts[r], vector);
    }
  }
  if (const std::size_t left = columns - k; left > 0) {
    HEADROOM_UNROLL(4)
    for (int v = 0; v < kTile; ++v) {
      const __m512bh vector = load_first(vectors[v] + k, left);
      HEADROOM_UNROLL(4)
      for (int r = 0; r < kTile; ++r)
        sums[v][r] = _mm512_dpbf16_ps(sums[v][r], load_first(rows[r] + k, left), vector);
    }
  }
  HEADROOM_UNROLL(4)
  for (int v = 0; v < kTile; ++v) tile[v] = avx512::sums_of(sums[v][0], sums[v][1], sums[v][2], sums[v][3]);
}

void multiply(const Bf16* const* rows, std::size_t used, std::size_t columns, const Bf16* const* vectors,
              std::size_t count, bool adds, std::size_t ahead, float* const* sums) {
  for (std::size_t v = 0; v < count; v += kTile) {
    const std::size_t some = std::min<std::size_t>(kTile, count - v);
    const Bf16* at[kTile];
    for (std::size_t i = 0; i < kTile; ++i) at[i] = vectors[v + std::min(i, some - 1)];
    for (std::size_t row = 0; row < used; row += kTile) {
      __m128 tile[kTile];
      if (v == 0 && ahead > 0) {
        multiply_tile<PrefetchHint::kLargerCaches>(rows + row, columns, at, ahead, tile);
      } else {
        multiply_tile<PrefetchHint::kNone>(rows + row, columns, at, 0, tile);
      }
      const auto wanted = static_cast<__mmask8>((1U << std::min<std::size_t>(kTile, used - row)) - 1);
      for (std::size_t i = 0; i < some; ++i) {
        float* const to = sums[v + i] + row;
        const __m128 before = adds ? _mm_maskz_loadu_ps(wanted, to) : _mm_setzero_ps();
        _mm_mask_storeu_ps(to, wanted, _mm_add_ps(before, tile[i]));
      }
    }
  }
}

[[gnu::always_inline]] inline __m512 scaled(__m128i numbers, __m512 scale, __m512 excess) {
  return _mm512_fmsub_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(numbers)), scale, excess);
}
[[gnu::always_inline]] inline void store_rounded(__m512 first, __m512 second, Bf16* to) {
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
}
[[gnu::always_inline]] inline __m128i load_numbers(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

void unpack_int8(const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  const __m512 one = _mm512_set1_ps(1), none = _mm512_setzero_ps();
  std::size_t k = 0;
  for (; k + kBlockColumns <= columns; k += kBlockColumns) {
    if (k % 64 == 0 && ahead > 0) prefetch<PrefetchHint::kLargerCaches>(from + k + ahead);
    store_rounded(scaled(load_numbers(from + k), one, none), scaled(load_numbers(from + k + 16), one, none),
                  to + k);
  }
  for (; k < columns; ++k) to[k] = to_bf16(static_cast<float>(std::to_integer<std::int8_t>(from[k])));
}

void unpack_int8_blocks(const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  for (std::size_t k = 0; k < columns; k += kBlockColumns, from += kInt8BlockBytes) {
    if (ahead > 0) prefetch<PrefetchHint::kLargerCaches>(from + ahead);
    const __m512 scale = _mm512_set1_ps(block_scale(from)), none = _mm512_setzero_ps();
    const std::byte* const numbers = from + kScaleBytes;
    store_rounded(scaled(load_numbers(numbers), scale, none), scaled(load_numbers(numbers + 16), scale, none),
                  to + k);
  }
}

void unpack_int4_blocks(const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  const __m128i low = _mm_set1_epi8(15);
  for (std::size_t k = 0; k < columns; k += kBlockColumns, from += kInt4BlockBytes) {
    if (ahead > 0) prefetch<PrefetchHint::kLargerCaches>(from + ahead);
    const float one = block_scale(from);
    const __m512 scale = _mm512_set1_ps(one), zero = _mm512_set1_ps(8 * one);
    const __m128i two = load_numbers(from + kScaleBytes);
    store_rounded(scaled(_mm_and_si128(two, low), scale, zero),
                  scaled(_mm_and_si128(_mm_srli_epi16(two, 4), low), scale, zero), to + k);
  }
}

void unpack(std::string_view dtype, const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  if (dtype == "int8") return unpack_int8(from, columns, ahead, to);
  if (dtype == "int4") return unpack_int4_blocks(from, columns, ahead, to);
  unpack_int8_blocks(from, columns, ahead, to);
}

HEADROOM_END_TARGET

}  // namespace

GemmKernel gemm_avx512_bf16() {
  return {multiply, unpack, "avx512_bf16"};
}

namespace {

/// Assembly needs neither compiler options nor function attributes.
class AmxTiles {
 public:
  ~AmxTiles() { asm volatile("tilerelease"); }
  void set_up() {
    const TileConfig config;
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  void load(const void* from, std::size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  void store(void* to, std::size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kSum, int kA, int kB>
  void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace

GemmKernel gemm_amx() {
  GemmKernel kernel = gemm_avx512_bf16();
  kernel.multiply = TiledGemm<AmxTiles>::multiply;
  kernel.rows = TiledGemm<AmxTiles>::kSide;
  kernel.isa = "amx";
  return kernel;
}

}  // namespace headroom::native
#endif
