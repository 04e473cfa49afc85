// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv_kernel.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "headroom_native/kernels/gemv_avx512.h"

#include "headroom_native/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/kernels/gemv_kernel.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
// Highway wants its own headers after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET)
namespace hn = hwy::HWY_NAMESPACE;
#else
namespace hn = compiler_vectors;
#endif

using F32 = hn::ScalableTag<float>;
using Words = hn::Repartition<std::uint32_t, F32>;
using Vector = hn::Vec<F32>;

/// Two neighbouring bf16 lie in each word: the lower half is the even column. A bf16 is the upper half of a
/// float.
HWY_INLINE Vector even_columns(hn::Vec<Words> words) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(words));
}
HWY_INLINE Vector odd_columns(hn::Vec<Words> words) {
  return hn::BitCast(F32(), hn::And(words, hn::Set(Words(), 0xffff0000U)));
}
HWY_INLINE hn::Vec<Words> load_words(const Bf16* from) {
  return hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(from));
}
HWY_INLINE float sum_of(Vector vector) {
  return hn::GetLane(hn::SumOfLanes(F32(), vector));
}

/// Even columns of x as floats, then the odd ones from a multiple of 64 bytes on.
struct SplitX {
  const float* even;
  const float* odd;
};
HWY_INLINE SplitX split(const std::byte* prepared, std::size_t columns) {
  const auto* even = reinterpret_cast<const float*>(prepared);
  return {even, even + ((columns + 1) / 2 + 15) / 16 * 16};
}

void prepare_bf16(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const std::size_t lanes = hn::Lanes(F32());
  const SplitX parts = split(prepared, columns);
  auto* even = const_cast<float*>(parts.even);
  auto* odd = const_cast<float*>(parts.odd);
  std::size_t k = 0;
  for (; k + 2 * lanes <= columns; k += 2 * lanes) {
    const auto words = load_words(x + k);
    hn::StoreU(even_columns(words), F32(), even + k / 2);
    hn::StoreU(odd_columns(words), F32(), odd + k / 2);
  }
  for (; k < columns; ++k) (k % 2 == 0 ? even : odd)[k / 2] = to_float(x[k]);
}

HWY_INLINE float tail_bf16(const Bf16* row, std::size_t from, std::size_t columns, SplitX x) {
  float sum = 0;
  for (std::size_t k = from; k < columns; ++k) {
    sum += to_float(row[k]) * (k % 2 == 0 ? x.even : x.odd)[k / 2];
  }
  return sum;
}

template <bool kPrefetch>
HWY_INLINE float dot_bf16(const Bf16* row, std::size_t columns, SplitX x, std::size_t ahead) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector e0 = hn::Zero(tag), o0 = e0, e1 = e0, o1 = e0, e2 = e0, o2 = e0, e3 = e0, o3 = e0;
  const auto step = [&](std::size_t k, Vector& even, Vector& odd) HWY_ATTR {
    if (kPrefetch) hwy::Prefetch(reinterpret_cast<const std::byte*>(row + k) + ahead);
    const auto words = load_words(row + k);
    even = hn::MulAdd(even_columns(words), hn::LoadU(tag, x.even + k / 2), even);
    odd = hn::MulAdd(odd_columns(words), hn::LoadU(tag, x.odd + k / 2), odd);
  };
  std::size_t k = 0;
  for (; k + 8 * lanes <= columns; k += 8 * lanes) {
    step(k, e0, o0);
    step(k + 2 * lanes, e1, o1);
    step(k + 4 * lanes, e2, o2);
    step(k + 6 * lanes, e3, o3);
  }
  for (; k + 2 * lanes <= columns; k += 2 * lanes) step(k, e0, o0);
  const Vector evens = hn::Add(hn::Add(e0, e1), hn::Add(e2, e3));
  const Vector odds = hn::Add(hn::Add(o0, o1), hn::Add(o2, o3));
  return sum_of(hn::Add(evens, odds)) + tail_bf16(row, k, columns, x);
}

HWY_INLINE void dot4_bf16(const Bf16* row, std::size_t columns, SplitX x, float* y) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector e0 = hn::Zero(tag), o0 = e0, e1 = e0, o1 = e0, e2 = e0, o2 = e0, e3 = e0, o3 = e0;
  std::size_t k = 0;
  for (; k + 2 * lanes <= columns; k += 2 * lanes) {
    const Vector even = hn::LoadU(tag, x.even + k / 2);
    const Vector odd = hn::LoadU(tag, x.odd + k / 2);
    const auto step = [&](const Bf16* from, Vector& evens, Vector& odds) HWY_ATTR {
      const auto words = load_words(from);
      evens = hn::MulAdd(even_columns(words), even, evens);
      odds = hn::MulAdd(odd_columns(words), odd, odds);
    };
    step(row + k, e0, o0);
    step(row + columns + k, e1, o1);
    step(row + 2 * columns + k, e2, o2);
    step(row + 3 * columns + k, e3, o3);
  }
  y[0] = sum_of(hn::Add(e0, o0)) + tail_bf16(row, k, columns, x);
  y[1] = sum_of(hn::Add(e1, o1)) + tail_bf16(row + columns, k, columns, x);
  y[2] = sum_of(hn::Add(e2, o2)) + tail_bf16(row + 2 * columns, k, columns, x);
  y[3] = sum_of(hn::Add(e3, o3)) + tail_bf16(row + 3 * columns, k, columns, x);
}

void multiply_bf16(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) {
  const auto* first = reinterpret_cast<const Bf16*>(weights);
  const SplitX x = split(prepared, columns);
  std::size_t row = 0;
  if (walk.rows > 1) {
    for (; row + 4 <= rows; row += 4) dot4_bf16(first + row * columns, columns, x, y + row);
  }
  for (; row < rows; ++row) {
    y[row] = walk.ahead > 0 ? dot_bf16<true>(first + row * columns, columns, x, walk.ahead)
                            : dot_bf16<false>(first + row * columns, columns, x, 0);
  }
}

void prepare_int8(const Bf16* x, std::size_t columns, std::byte* prepared) {
  auto* plain = reinterpret_cast<float*>(prepared);
  for (std::size_t k = 0; k < columns; ++k) plain[k] = to_float(x[k]);
}

template <bool kPrefetch>
HWY_INLINE float dot_int8(const std::int8_t* row, std::size_t columns, const float* x, std::size_t ahead) {
  const F32 tag;
  const hn::Rebind<std::int32_t, F32> integers;
  const hn::Rebind<std::int8_t, F32> bytes;
  const std::size_t lanes = hn::Lanes(tag);
  Vector s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0;
  const auto step = [&](std::size_t k, Vector& sum) HWY_ATTR {
    const auto weights = hn::ConvertTo(tag, hn::PromoteTo(integers, hn::LoadU(bytes, row + k)));
    sum = hn::MulAdd(weights, hn::LoadU(tag, x + k), sum);
  };
  std::size_t k = 0;
  for (; k + 4 * lanes <= columns; k += 4 * lanes) {
    if (kPrefetch) hwy::Prefetch(row + k + ahead);  // four vectors are a line at most
    step(k, s0);
    step(k + lanes, s1);
    step(k + 2 * lanes, s2);
    step(k + 3 * lanes, s3);
  }
  for (; k + lanes <= columns; k += lanes) step(k, s0);
  float sum = sum_of(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
  for (; k < columns; ++k) sum += static_cast<float>(row[k]) * x[k];
  return sum;
}

void multiply_int8(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) {
  const auto* first = reinterpret_cast<const std::int8_t*>(weights);
  const auto* x = reinterpret_cast<const float*>(prepared);
  for (std::size_t row = 0; row < rows; ++row) {
    y[row] = walk.ahead > 0 ? dot_int8<true>(first + row * columns, columns, x, walk.ahead)
                            : dot_int8<false>(first + row * columns, columns, x, 0);
  }
}

/// As to_bf16 does: to nearest even, a NaN stays a quiet one.
void round_to_bf16(const float* x, std::size_t count, Bf16* y) {
  const F32 tag;
  const Words words;
  const hn::Rebind<std::uint16_t, F32> halves;
  const hn::Rebind<std::int32_t, F32> integers;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector value = hn::LoadU(tag, x + i);
    const auto bits = hn::BitCast(words, value);
    const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1U));
    const auto rounded = hn::Add(bits, hn::Add(last, hn::Set(words, 0x7fffU)));
    const auto quiet = hn::Or(bits, hn::Set(words, 0x400000U));
    const auto is_number = hn::RebindMask(words, hn::Eq(value, value));
    const auto upper = hn::ShiftRight<16>(hn::IfThenElse(is_number, rounded, quiet));
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(integers, upper)), halves, &y[i].bits);
  }
  for (; i < count; ++i) y[i] = to_bf16(x[i]);
}

}  // namespace headroom::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headroom::native {
GemvKernel portable_gemv_kernel(std::string_view dtype, Isa isa) {
  const std::string target = vectors_of(isa);
  const auto round = HEADROOM_HIGHWAY_FUNCTION(round_to_bf16, isa);
  if (dtype == "bf16") {
    return {HEADROOM_HIGHWAY_FUNCTION(prepare_bf16, isa), HEADROOM_HIGHWAY_FUNCTION(multiply_bf16, isa),
            round, target, Reach::kFar};
  }
  if (dtype == "int8") {
    return {HEADROOM_HIGHWAY_FUNCTION(prepare_int8, isa), HEADROOM_HIGHWAY_FUNCTION(multiply_int8, isa),
            round, target, Reach::kFar};
  }
  throw std::logic_error("no gemv kernel for weights of " + std::string(dtype));
}

bool has_gemv_form(std::string_view dtype, Isa isa, GemvForm form) {
  return form != GemvForm::kTable || (dtype == "int8" && has_byte_permutation(isa));
}

GemvKernel gemv_kernel(std::string_view dtype, Isa isa, GemvForm form) {
  if (!has_gemv_form(dtype, isa, form)) {
    throw std::logic_error("no gemv kernel with a table for weights of " + std::string(dtype) + " on " +
                           name_of(isa));
  }
#if defined(__x86_64__)
  if (form == GemvForm::kTable) return gemv_avx512_table();
  if (dtype == "int8" && isa >= Isa::kAvx512Vnni) return gemv_avx512_vnni(form == GemvForm::kStrict);
  if (dtype == "bf16" && isa >= Isa::kAvx512Bf16 && form == GemvForm::kBest) return gemv_avx512_bf16();
#endif
  return portable_gemv_kernel(dtype, isa);
}

Reach reach_of(std::size_t bytes_per_thread, bool hot) {
  constexpr std::size_t kNearBytes = std::size_t{1} << 20;
  return hot && bytes_per_thread <= kNearBytes ? Reach::kNear : Reach::kFar;
}

}  // namespace headroom::native
#endif
