// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/kernels/gemv/gemv_kernel.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per target
// Highway's own headers must follow foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#include "headroom_native/kernels/highway_vectors.h"

constexpr std::size_t kLine = 64;
constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);

#include "headroom_native/kernels/gemv/gemv_walks.h"

/// Floats: even columns, then odd ones at the next multiple of 64 bytes.
struct SplitX {
  const float* even;
  const float* odd;
};
HWY_INLINE SplitX split(const std::byte* prepared, std::size_t columns) {
  const auto* even = reinterpret_cast<const float*>(prepared);
  return {even, even + ((columns + 1) / 2 + 15) / 16 * 16};
}

void prepare_bf16(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const SplitX parts = split(prepared, columns);
  auto* even = const_cast<float*>(parts.even);
  auto* odd = const_cast<float*>(parts.odd);
  std::size_t k = 0;
  for (; k + 2 * kLanes <= columns; k += 2 * kLanes) {
    const auto words = load_words(x + k);
    hn::StoreU(even_columns(words), F32(), even + k / 2);
    hn::StoreU(odd_columns(words), F32(), odd + k / 2);
  }
  for (; k < columns; ++k) (k % 2 == 0 ? even : odd)[k / 2] = to_float(x[k]);
}

/// Otherwise GCC loads the words twice; two loads per cycle bound the kernel.
HWY_INLINE hn::Vec<Words> load_words_once(const Bf16* from) {
  auto words = load_words(from);
#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET) && HWY_ARCH_X86
  asm("" : "+v"(words.raw));
#endif
  return words;
}

struct Bf16Kernel {
  using Weight = Bf16;

  template <int kRows, PrefetchHint kAhead>
  HWY_INLINE static void dot(const Bf16* const* rows, std::size_t columns, const std::byte* prepared,
                             std::size_t ahead, float* y) {
    constexpr std::size_t kSums = 4 / kRows;  // per row, for even and for odd columns
    constexpr std::size_t kVectors = kSums * sizeof(Vector) > kLine ? kSums : kLine / sizeof(Vector);
    const F32 tag;
    const SplitX x = split(prepared, columns);
    Vector even[kRows][kSums], odd[kRows][kSums];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(4)
      for (std::size_t u = 0; u < kSums; ++u) even[i][u] = odd[i][u] = hn::Zero(tag);
    }
    const std::size_t words = columns / 2;
    std::size_t k = 0;
    for (; k + kVectors * kLanes <= words; k += kVectors * kLanes) {
      HEADROOM_UNROLL(4)
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t at = k + v * kLanes;
        const Vector x_even = hn::LoadU(tag, x.even + at), x_odd = hn::LoadU(tag, x.odd + at);
        HEADROOM_UNROLL(4)
        for (int i = 0; i < kRows; ++i) {
          if (v * sizeof(Vector) % kLine == 0) {
            prefetch<kAhead>(reinterpret_cast<const std::byte*>(rows[i] + 2 * at) + ahead);
          }
          const auto weights = load_words_once(rows[i] + 2 * at);
          even[i][v % kSums] = hn::MulAdd(even_columns(weights), x_even, even[i][v % kSums]);
          odd[i][v % kSums] = hn::MulAdd(odd_columns(weights), x_odd, odd[i][v % kSums]);
        }
      }
    }
    for (; k + kLanes <= words; k += kLanes) {
      const Vector x_even = hn::LoadU(tag, x.even + k), x_odd = hn::LoadU(tag, x.odd + k);
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) {
        const auto weights = load_words_once(rows[i] + 2 * k);
        even[i][0] = hn::MulAdd(even_columns(weights), x_even, even[i][0]);
        odd[i][0] = hn::MulAdd(odd_columns(weights), x_odd, odd[i][0]);
      }
    }
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      Vector sum = hn::Add(even[i][0], odd[i][0]);
      HEADROOM_UNROLL(4)
      for (std::size_t u = 1; u < kSums; ++u) sum = hn::Add(sum, hn::Add(even[i][u], odd[i][u]));
      y[i] = sum_of(sum);
      for (std::size_t rest = 2 * k; rest < columns; ++rest) {
        y[i] += to_float(rows[i][rest]) * (rest % 2 == 0 ? x.even : x.odd)[rest / 2];
      }
    }
  }
};

void multiply_bf16(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) {
  multiply<Bf16Kernel>(weights, rows, columns, prepared, walk, y);
}

void prepare_floats(const Bf16* x, std::size_t columns, std::byte* prepared) {
  auto* plain = reinterpret_cast<float*>(prepared);
  for (std::size_t k = 0; k < columns; ++k) plain[k] = to_float(x[k]);
}

struct Int8Kernel {
  using Weight = std::int8_t;

  template <int kRows, PrefetchHint kAhead>
  HWY_INLINE static void dot(const std::int8_t* const* rows, std::size_t columns, const std::byte* prepared,
                             std::size_t ahead, float* y) {
    constexpr std::size_t kSums = kRows == 1 ? 4 : 2;
    const F32 tag;
    const hn::Rebind<std::int32_t, F32> integers;
    const hn::Rebind<std::int8_t, F32> bytes;
    const auto* x = reinterpret_cast<const float*>(prepared);
    Vector sums[kRows][kSums];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(4)
      for (std::size_t u = 0; u < kSums; ++u) sums[i][u] = hn::Zero(tag);
    }
    std::size_t k = 0;
    for (; k + kLine <= columns; k += kLine) {
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) prefetch<kAhead>(rows[i] + k + ahead);
      HEADROOM_UNROLL(16)
      for (std::size_t v = 0; v < kLine / kLanes; ++v) {
        const std::size_t at = k + v * kLanes;
        const Vector part = hn::LoadU(tag, x + at);
        HEADROOM_UNROLL(4)
        for (int i = 0; i < kRows; ++i) {
          const auto weights = hn::ConvertTo(tag, hn::PromoteTo(integers, hn::LoadU(bytes, rows[i] + at)));
          sums[i][v % kSums] = hn::MulAdd(weights, part, sums[i][v % kSums]);
        }
      }
    }
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      Vector sum = sums[i][0];
      HEADROOM_UNROLL(4)
      for (std::size_t u = 1; u < kSums; ++u) sum = hn::Add(sum, sums[i][u]);
      y[i] = sum_of(sum);
      for (std::size_t rest = k; rest < columns; ++rest) y[i] += static_cast<float>(rows[i][rest]) * x[rest];
    }
  }
};

void multiply_int8(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) {
  multiply<Int8Kernel>(weights, rows, columns, prepared, walk, y);
}

#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET)
/// x as 16-bit fixed point. Products are summed exactly in 32 bits (vpmaddwd, smlal).
using I32 = hn::Repartition<std::int32_t, F32>;
using I16 = hn::Repartition<std::int16_t, F32>;
using HalfI16 = hn::Rebind<std::int16_t, F32>;
using HalfI8 = hn::Rebind<std::int8_t, I16>;

void prepare_fixed(const Bf16* x, std::size_t columns, std::byte* prepared) {
  constexpr float kLargest = 32767;
  const FixedPoint point = fixed_point(x, columns, kLargest, columns, prepared);
  if (!point.fits) return prepare_floats(x, columns, prepared + kLine);
  auto* fixed = reinterpret_cast<std::int16_t*>(prepared + kLine);
  const F32 tag;
  const hn::Rebind<std::uint16_t, F32> halves;
  // Rounding the scale may push the largest x out of range; DemoteTo saturates.
  const auto scales = hn::Set(tag, point.scale);
  std::size_t k = 0;
  for (; k + kLanes <= columns; k += kLanes) {
    const auto words = hn::ShiftLeft<16>(hn::PromoteTo(Words(), hn::LoadU(halves, &x[k].bits)));
    const auto scaled = hn::NearestInt(hn::Mul(hn::BitCast(tag, words), scales));
    hn::StoreU(hn::DemoteTo(HalfI16(), scaled), HalfI16(), fixed + k);
  }
  for (; k < columns; ++k) {
    const float scaled = std::nearbyint(to_float(x[k]) * point.scale);
    fixed[k] = static_cast<std::int16_t>(std::fmin(std::fmax(scaled, -kLargest), kLargest));
  }
}

struct FixedKernel {
  using Weight = std::int8_t;

  template <int kRows, PrefetchHint kAhead>
  HWY_INLINE static void dot(const std::int8_t* const* rows, std::size_t columns, const std::byte* prepared,
                             std::size_t ahead, float* y) {
    constexpr std::size_t kStep = 2 * kLanes;  // columns of a vector of x
    // Two products of at most 128 * 32767 a lane and step: 256 steps fit 32 bits.
    constexpr std::size_t kBlock = 256 * kStep;
    static_assert(kBlock % kLine == 0 && kLine % kStep == 0);
    const auto* fixed = reinterpret_cast<const std::int16_t*>(prepared);
    const I16 tag;
    Vector total[kRows];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) total[i] = hn::Zero(F32());
    std::size_t k = 0;
    while (k + kStep <= columns) {
      const std::size_t left = (columns - k) / kStep * kStep;
      const std::size_t end = k + (left < kBlock ? left : kBlock);
      hn::Vec<I32> sum[kRows], other[kRows];
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) sum[i] = other[i] = hn::Zero(I32());
      for (; k + kLine <= end; k += kLine) {
        HEADROOM_UNROLL(4)
        for (int i = 0; i < kRows; ++i) prefetch<kAhead>(rows[i] + k + ahead);
        HEADROOM_UNROLL(8)
        for (std::size_t v = 0; v < kLine / kStep; ++v) {
          const std::size_t at = k + v * kStep;
          const auto part = hn::LoadU(tag, fixed + at);
          HEADROOM_UNROLL(4)
          for (int i = 0; i < kRows; ++i) {
            const auto weights = hn::PromoteTo(tag, hn::LoadU(HalfI8(), rows[i] + at));
            sum[i] = hn::ReorderWidenMulAccumulate(I32(), weights, part, sum[i], other[i]);
          }
        }
      }
      for (; k < end; k += kStep) {
        const auto part = hn::LoadU(tag, fixed + k);
        HEADROOM_UNROLL(4)
        for (int i = 0; i < kRows; ++i) {
          const auto weights = hn::PromoteTo(tag, hn::LoadU(HalfI8(), rows[i] + k));
          sum[i] = hn::ReorderWidenMulAccumulate(I32(), weights, part, sum[i], other[i]);
        }
      }
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) {
        total[i] = hn::Add(total[i], hn::Add(hn::ConvertTo(F32(), sum[i]), hn::ConvertTo(F32(), other[i])));
      }
    }
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      std::int32_t rest = 0;
      for (std::size_t at = k; at < columns; ++at) rest += rows[i][at] * fixed[at];
      y[i] = sum_of(total[i]) + static_cast<float>(rest);
    }
  }
};

void multiply_fixed(const std::byte* weights, std::size_t rows, std::size_t columns,
                    const std::byte* prepared, GemvWalk walk, float* y) {
  const FixedHeader header = header_of(prepared);
  if (!header.is_fixed) return multiply<Int8Kernel>(weights, rows, columns, prepared + kLine, walk, y);
  multiply<FixedKernel>(weights, rows, columns, prepared + kLine, walk, y);
  for (std::size_t row = 0; row < rows; ++row) y[row] *= header.step;
}
#else
// Compiler vectors have no products of 16 bits.
void prepare_fixed(const Bf16* x, std::size_t columns, std::byte* prepared) {
  prepare_floats(x, columns, prepared);
}
void multiply_fixed(const std::byte* weights, std::size_t rows, std::size_t columns,
                    const std::byte* prepared, GemvWalk walk, float* y) {
  multiply<Int8Kernel>(weights, rows, columns, prepared, walk, y);
}
#endif

/// Rounds to nearest even; a NaN stays a quiet NaN.
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
GemvKernel portable_gemv_kernel(std::string_view dtype, Isa isa, GemvForm form) {
  const std::string vectors = vector_target(isa);
  const auto round = HEADROOM_HIGHWAY_FUNCTION(round_to_bf16, isa);
  if (dtype == "bf16") {
    return {HEADROOM_HIGHWAY_FUNCTION(prepare_bf16, isa), HEADROOM_HIGHWAY_FUNCTION(multiply_bf16, isa),
            round, vectors, kFourStreams};
  }
  if (dtype != "int8") throw std::logic_error("no gemv kernel for weights of " + std::string(dtype));
  if (form == GemvForm::kStrict || !has_highway_vectors(isa)) {
    return {HEADROOM_HIGHWAY_FUNCTION(prepare_floats, isa), HEADROOM_HIGHWAY_FUNCTION(multiply_int8, isa),
            round, vectors, kFourStreams};
  }
  return {HEADROOM_HIGHWAY_FUNCTION(prepare_fixed, isa),
          HEADROOM_HIGHWAY_FUNCTION(multiply_fixed, isa),
          round,
          vectors + ", x in 16 bits",
          kFourStreams,
          "int8"};
}

bool has_gemv_form(std::string_view dtype, Isa isa, GemvForm form) {
  return form != GemvForm::kTable || (dtype == "int8" && has_byte_permutation(isa));
}

GemvKernel gemv_kernel(std::string_view dtype, Isa isa, GemvForm form) {
  if (!has_gemv_form(dtype, isa, form)) {
    throw std::logic_error("no gemv kernel with a table for weights of " + std::string(dtype) + " on " +
                           name_of(isa));
  }
  if (dtype == "int8_g32" || dtype == "int4") return gemv_blocks(dtype, isa);
  if (dtype == "q4_k" || dtype == "q5_k" || dtype == "q6_k") return gemv_super_blocks(dtype, isa);
#if defined(__x86_64__)
  if (form == GemvForm::kTable) return gemv_avx512_table();
  if (dtype == "int8" && isa == Isa::kAvxVnni && form == GemvForm::kBest) return gemv_avx_vnni();
  if (dtype == "int8" && isa >= Isa::kAvx512Vnni) return gemv_avx512_vnni(form == GemvForm::kStrict);
  if (dtype == "bf16" && isa >= Isa::kAvx512Bf16 && form == GemvForm::kBest) return gemv_avx512_bf16();
#endif
#if HEADROOM_HAS_SVE
  if (isa >= Isa::kSve && (dtype == "bf16" || dtype == "int8")) {
    if (form == GemvForm::kStrict) return gemv_sve_exact(dtype);
    if (dtype == "int8") return gemv_sve_dot();
    return isa >= Isa::kSveBf16 ? gemv_sve_bf16() : gemv_sve_exact(dtype);
  }
#endif
#if defined(__aarch64__)
  if (dtype == "int8" && isa >= Isa::kNeonDot && form == GemvForm::kBest) return gemv_neon_dot();
  if (dtype == "bf16" && isa >= Isa::kNeonBf16 && form == GemvForm::kBest) return gemv_neon_bf16();
#endif
  return portable_gemv_kernel(dtype, isa, form);
}

Residency residency_of(std::size_t bytes_per_thread, bool hot) {
  constexpr std::size_t kNearBytes = std::size_t{1} << 20;
  return hot && bytes_per_thread <= kNearBytes ? Residency::kNear : Residency::kFar;
}

FixedPoint fixed_point(const Bf16* x, std::size_t columns, float most, std::size_t most_columns,
                       std::byte* prepared) {
  constexpr float kLeast = 1e-25F;  // below this, 1 / step overflows
  // Magnitudes of bf16 order like their bits; NaN and infinity are largest.
  constexpr std::int16_t kMagnitude = 0x7fff, kInfinity = 0x7f80;
  std::int16_t bits = 0;
  for (std::size_t k = 0; k < columns; ++k)
    bits = std::max(bits, static_cast<std::int16_t>(x[k].bits & kMagnitude));
  const float largest = to_float(Bf16{static_cast<std::uint16_t>(bits)});
  FixedPoint point;
  point.fits = columns <= most_columns && bits < kInfinity && (bits == 0 || largest >= kLeast);
  if (point.fits) {
    if (bits != 0) point.scale = most / largest;
    point.step = static_cast<float>(1 / static_cast<double>(point.scale));
  }
  const FixedHeader header{point.step, point.fits};
  std::memcpy(prepared, &header, sizeof header);
  return point;
}

}  // namespace headroom::native
#endif
