// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemm_kernel.h"

#include <algorithm>
#include <cstdint>

#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/kernels/gemm_kernel.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per target
// Highway's own headers must follow foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#include "headroom_native/kernels/highway_vectors.h"

using Integers = hn::Rebind<std::int32_t, F32>;
using Bytes = hn::Rebind<std::int8_t, F32>;
using Halves = hn::Rebind<std::uint16_t, F32>;

/// Register tile; 2 by 4 also fits sixteen registers.
constexpr std::size_t kTileRows = 2, kTileVectors = 4;

HWY_INLINE float sum_of_tail(const Bf16* row, const Bf16* vector, std::size_t from, std::size_t columns) {
  float sum = 0;
  for (std::size_t k = from; k < columns; ++k) sum += to_float(row[k]) * to_float(vector[k]);
  return sum;
}

HWY_INLINE void multiply_tile(const Bf16* const* rows, std::size_t columns, const Bf16* const* vectors,
                              std::size_t ahead, float (&tile)[kTileVectors][kTileRows]) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector a0 = hn::Zero(tag), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  const auto step = [&](std::size_t k, const Bf16* vector, Vector even_a, Vector odd_a, Vector even_b,
                        Vector odd_b, Vector& a, Vector& b) HWY_ATTR {
    const auto words = load_words(vector + k);
    const Vector even = even_columns(words), odd = odd_columns(words);
    a = hn::MulAdd(even_a, even, a);
    b = hn::MulAdd(even_b, even, b);
    a = hn::MulAdd(odd_a, odd, a);
    b = hn::MulAdd(odd_b, odd, b);
  };
  std::size_t k = 0;
  for (; k + 2 * lanes <= columns; k += 2 * lanes) {
    if (ahead > 0) {
      hwy::Prefetch(reinterpret_cast<const std::byte*>(rows[0] + k) + ahead);
      hwy::Prefetch(reinterpret_cast<const std::byte*>(rows[1] + k) + ahead);
    }
    const auto first = load_words(rows[0] + k), second = load_words(rows[1] + k);
    const Vector even_a = even_columns(first), odd_a = odd_columns(first), even_b = even_columns(second),
                 odd_b = odd_columns(second);
    step(k, vectors[0], even_a, odd_a, even_b, odd_b, a0, b0);
    step(k, vectors[1], even_a, odd_a, even_b, odd_b, a1, b1);
    step(k, vectors[2], even_a, odd_a, even_b, odd_b, a2, b2);
    step(k, vectors[3], even_a, odd_a, even_b, odd_b, a3, b3);
  }
  const Vector sums[kTileVectors][kTileRows] = {{a0, b0}, {a1, b1}, {a2, b2}, {a3, b3}};
  for (std::size_t v = 0; v < kTileVectors; ++v) {
    for (std::size_t r = 0; r < kTileRows; ++r)
      tile[v][r] = sum_of(sums[v][r]) + sum_of_tail(rows[r], vectors[v], k, columns);
  }
}

void multiply(const Bf16* const* rows, std::size_t used, std::size_t columns, const Bf16* const* vectors,
              std::size_t count, bool adds, std::size_t ahead, float* const* sums) {
  for (std::size_t v = 0; v < count; v += kTileVectors) {
    const std::size_t some = std::min(kTileVectors, count - v);
    const Bf16* at[kTileVectors];
    for (std::size_t i = 0; i < kTileVectors; ++i) at[i] = vectors[v + std::min(i, some - 1)];
    for (std::size_t row = 0; row < used; row += kTileRows) {
      float tile[kTileVectors][kTileRows];
      multiply_tile(rows + row, columns, at, v == 0 ? ahead : 0, tile);
      for (std::size_t i = 0; i < some; ++i) {
        for (std::size_t r = 0; r < std::min(kTileRows, used - row); ++r)
          sums[v + i][row + r] = tile[i][r] + (adds ? sums[v + i][row + r] : 0);
      }
    }
  }
}

HWY_INLINE hn::Vec<Integers> load_integers(const std::byte* from) {
  return hn::PromoteTo(Integers(), hn::LoadU(Bytes(), reinterpret_cast<const std::int8_t*>(from)));
}

void unpack_int8(const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t k = 0;
  for (; k + lanes <= columns; k += lanes) {
    if (ahead > 0) hwy::Prefetch(from + k + ahead);
    store_rounded(hn::ConvertTo(tag, load_integers(from + k)), to + k);
  }
  for (; k < columns; ++k) to[k] = to_bf16(static_cast<float>(std::to_integer<std::int8_t>(from[k])));
}

void unpack_int8_blocks(const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t block = 0; block < columns / kBlockColumns; ++block, from += kInt8BlockBytes) {
    if (ahead > 0) hwy::Prefetch(from + ahead);
    const Vector scale = hn::Set(tag, block_scale(from));
    for (std::size_t k = 0; k < kBlockColumns; k += lanes)
      store_rounded(hn::Mul(hn::ConvertTo(tag, load_integers(from + kScaleBytes + k)), scale),
                    to + block * kBlockColumns + k);
  }
}

void unpack_int4_blocks(const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  const F32 tag;
  const Integers integers;
  const std::size_t lanes = hn::Lanes(tag);
  const auto low = hn::Set(integers, 15), zero = hn::Set(integers, 8);
  for (std::size_t block = 0; block < columns / kBlockColumns; ++block, from += kInt4BlockBytes) {
    if (ahead > 0) hwy::Prefetch(from + ahead);
    const Vector scale = hn::Set(tag, block_scale(from));
    Bf16* const part = to + block * kBlockColumns;
    for (std::size_t k = 0; k < kBlockColumns / 2; k += lanes) {
      const auto two = load_integers(from + kScaleBytes + k);
      const auto first = hn::Sub(hn::And(two, low), zero);
      const auto second = hn::Sub(hn::And(hn::ShiftRight<4>(two), low), zero);
      store_rounded(hn::Mul(hn::ConvertTo(tag, first), scale), part + k);
      store_rounded(hn::Mul(hn::ConvertTo(tag, second), scale), part + kBlockColumns / 2 + k);
    }
  }
}

void unpack(std::string_view dtype, const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  if (dtype == "int8") return unpack_int8(from, columns, ahead, to);
  if (dtype == "int4") return unpack_int4_blocks(from, columns, ahead, to);
  unpack_int8_blocks(from, columns, ahead, to);
}

}  // namespace headroom::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headroom::native {
GemmKernel portable_gemm_kernel(Isa isa) {
  return {HEADROOM_HIGHWAY_FUNCTION(multiply, isa), HEADROOM_HIGHWAY_FUNCTION(unpack, isa),
          vector_target(isa)};
}

GemmKernel gemm_kernel(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAmx) return gemm_amx();
  if (isa >= Isa::kAvx512Bf16) return gemm_avx512_bf16();
#endif
  return portable_gemm_kernel(isa);
}

}  // namespace headroom::native
#endif
