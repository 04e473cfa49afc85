// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv_blocks.h"

#include <cstdint>

#include "headroom_native/kernels/block_scale.h"
#include "headroom_native/kernels/gemv_avx512.h"

#include "headroom_native/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/kernels/gemv_blocks.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
// Highway wants its own headers after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#include "headroom_native/kernels/highway_vectors.h"

using Integers = hn::Rebind<std::int32_t, F32>;
using Bytes = hn::Rebind<std::int8_t, F32>;

HWY_INLINE hn::Vec<Integers> load_integers(const std::byte* from) {
  return hn::PromoteTo(Integers(), hn::LoadU(Bytes(), reinterpret_cast<const std::int8_t*>(from)));
}

/// Floats, and behind them eight times the sum of each block: what numbers of 4 bits, of which 8 is zero, are
/// too much.
void prepare(const Bf16* x, std::size_t columns, std::byte* prepared) {
  auto* plain = reinterpret_cast<float*>(prepared);
  for (std::size_t k = 0; k < columns; ++k) plain[k] = to_float(x[k]);
  float* const excess = plain + columns;
  for (std::size_t block = 0; block < columns / kBlockColumns; ++block) {
    float sum = 0;
    for (std::size_t i = 0; i < kBlockColumns; ++i) sum += plain[block * kBlockColumns + i];
    excess[block] = 8 * sum;
  }
}

/// The products of one block of int8 and x, in lanes.
HWY_INLINE Vector products_of_int8(const std::byte* numbers, const float* x) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector sums = hn::Mul(hn::ConvertTo(tag, load_integers(numbers)), hn::LoadU(tag, x));
  for (std::size_t k = lanes; k < kBlockColumns; k += lanes)
    sums = hn::MulAdd(hn::ConvertTo(tag, load_integers(numbers + k)), hn::LoadU(tag, x + k), sums);
  return sums;
}

/// The same of 4 bits, eight too large each: the low halves of the bytes are the first sixteen columns.
HWY_INLINE Vector products_of_int4(const std::byte* numbers, const float* x) {
  const F32 tag;
  const Integers integers;
  const std::size_t lanes = hn::Lanes(tag);
  const auto low = hn::Set(integers, 15);
  Vector firsts = hn::Zero(tag), seconds = firsts;
  for (std::size_t k = 0; k < kBlockColumns / 2; k += lanes) {
    const auto two = load_integers(numbers + k);
    firsts = hn::MulAdd(hn::ConvertTo(tag, hn::And(two, low)), hn::LoadU(tag, x + k), firsts);
    seconds = hn::MulAdd(hn::ConvertTo(tag, hn::And(hn::ShiftRight<4>(two), low)),
                         hn::LoadU(tag, x + kBlockColumns / 2 + k), seconds);
  }
  return hn::Add(firsts, seconds);
}

/// Two rows at once, two sums each: as many additions under way as hide what one takes.
template <bool kInt4, bool kPrefetch>
HWY_INLINE void dot2(const std::byte* row, std::size_t row_bytes, std::size_t blocks, const float* x,
                     std::size_t ahead, float* y) {
  constexpr std::size_t kBytes = kInt4 ? kInt4BlockBytes : kInt8BlockBytes;
  const F32 tag;
  const float* const excess = x + blocks * kBlockColumns;
  Vector first[2] = {hn::Zero(tag), hn::Zero(tag)}, second[2] = {hn::Zero(tag), hn::Zero(tag)};
  float too_much[2] = {0, 0};
  const auto step = [&](const std::byte* at, std::size_t block, Vector& sums, float& more) HWY_ATTR {
    if (kPrefetch) hwy::Prefetch(at + ahead);
    const float scale = block_scale(at);
    const float* const part = x + block * kBlockColumns;
    const Vector products =
        kInt4 ? products_of_int4(at + kScaleBytes, part) : products_of_int8(at + kScaleBytes, part);
    sums = hn::MulAdd(hn::Set(tag, scale), products, sums);
    if (kInt4) more += scale * excess[block];
  };
  for (std::size_t block = 0; block < blocks; ++block) {
    step(row + block * kBytes, block, block % 2 == 0 ? first[0] : first[1], too_much[0]);
    step(row + row_bytes + block * kBytes, block, block % 2 == 0 ? second[0] : second[1], too_much[1]);
  }
  y[0] = sum_of(hn::Add(first[0], first[1])) - too_much[0];
  y[1] = sum_of(hn::Add(second[0], second[1])) - too_much[1];
}

template <bool kInt4, bool kPrefetch>
HWY_INLINE void multiply_as(const std::byte* weights, std::size_t rows, std::size_t columns,
                            const std::byte* prepared, std::size_t ahead, float* y) {
  const std::size_t blocks = columns / kBlockColumns;
  const std::size_t row_bytes = blocks * (kInt4 ? kInt4BlockBytes : kInt8BlockBytes);
  const auto* x = reinterpret_cast<const float*>(prepared);
  std::size_t row = 0;
  for (; row + 2 <= rows; row += 2)
    dot2<kInt4, kPrefetch>(weights + row * row_bytes, row_bytes, blocks, x, ahead, y + row);
  if (row == rows) return;
  float twice[2];
  dot2<kInt4, false>(weights + row * row_bytes, 0, blocks, x, 0, twice);
  y[row] = twice[0];
}

void multiply_int8_blocks(const std::byte* weights, std::size_t rows, std::size_t columns,
                          const std::byte* prepared, GemvWalk walk, float* y) {
  if (walk.ahead > 0) return multiply_as<false, true>(weights, rows, columns, prepared, walk.ahead, y);
  multiply_as<false, false>(weights, rows, columns, prepared, 0, y);
}
void multiply_int4_blocks(const std::byte* weights, std::size_t rows, std::size_t columns,
                          const std::byte* prepared, GemvWalk walk, float* y) {
  if (walk.ahead > 0) return multiply_as<true, true>(weights, rows, columns, prepared, walk.ahead, y);
  multiply_as<true, false>(weights, rows, columns, prepared, 0, y);
}

}  // namespace headroom::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headroom::native {
GemvKernel gemv_blocks(std::string_view dtype, Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512Vnni) return gemv_avx512_blocks(dtype == "int4");
#endif
  return portable_gemv_blocks(dtype, isa);
}

GemvKernel portable_gemv_blocks(std::string_view dtype, Isa isa) {
  const auto round = portable_gemv_kernel("bf16", isa).round;
  return {HEADROOM_HIGHWAY_FUNCTION(prepare, isa),
          dtype == "int4" ? HEADROOM_HIGHWAY_FUNCTION(multiply_int4_blocks, isa)
                          : HEADROOM_HIGHWAY_FUNCTION(multiply_int8_blocks, isa),
          round, vectors_of(isa), Reach::kFar};
}

}  // namespace headroom::native
#endif
