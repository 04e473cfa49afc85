// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/norm_kernel.h"

#if HEADROOM_HAS_SVE
#include <arm_sve.h>

#include <cmath>
#include <cstdint>

#include "headroom_native/kernels/code_generation.h"

namespace headroom::native {
namespace {

HEADROOM_BEGIN_SVE

struct Moments {
  float mean;
  float scale;  ///< 1 / sqrt(variance + epsilon)
};

/// Loads bf16, zero outside of `some`. A bf16 is the upper half of a float.
[[gnu::always_inline]] inline svuint16_t load_halves(svbool_t some, const Bf16* from) {
  return svld1_u16(some, reinterpret_cast<const std::uint16_t*>(from));
}
[[gnu::always_inline]] inline svfloat32_t first_floats(svuint16_t halves) {
  return svreinterpret_f32_u16(svzip1_u16(svdup_n_u16(0), halves));
}
[[gnu::always_inline]] inline svfloat32_t last_floats(svuint16_t halves) {
  return svreinterpret_f32_u16(svzip2_u16(svdup_n_u16(0), halves));
}

/// Squares centred values.
Moments moments_by_centring(const Bf16* row, std::size_t columns) {
  const svbool_t all = svptrue_b32();
  svfloat32_t a = svdup_n_f32(0), b = a;
  for (std::size_t k = 0; k < columns; k += svcnth()) {
    const svuint16_t halves = load_halves(svwhilelt_b16_u64(k, columns), row + k);
    a = svadd_f32_x(all, a, first_floats(halves));
    b = svadd_f32_x(all, b, last_floats(halves));
  }
  const float mean = svaddv_f32(all, svadd_f32_x(all, a, b)) / static_cast<float>(columns);
  a = b = svdup_n_f32(0);
  for (std::size_t k = 0; k < columns; k += svcnth()) {
    const svbool_t first = svwhilelt_b32_u64(k, columns), last = svwhilelt_b32_u64(k + svcntw(), columns);
    const svuint16_t halves = load_halves(svwhilelt_b16_u64(k, columns), row + k);
    const svfloat32_t x = svsub_n_f32_x(all, first_floats(halves), mean);
    const svfloat32_t y = svsub_n_f32_x(all, last_floats(halves), mean);
    a = svmla_f32_m(first, a, x, x);
    b = svmla_f32_m(last, b, y, y);
  }
  const float variance = svaddv_f32(all, svadd_f32_x(all, a, b)) / static_cast<float>(columns);
  return {mean, 1.0F / std::sqrt(variance + kNormEpsilon)};
}

/// One pass over x minus its first value; two if rounding would lose a variance small compared to the
/// remaining mean.
template <PrefetchHint kAhead>
[[gnu::always_inline]] inline Moments moments_of(const Bf16* row, std::size_t columns, std::size_t ahead) {
  constexpr std::size_t kLine = 64;
  const float shift = to_float(row[0]);
  const svbool_t all = svptrue_b32();
  svfloat32_t sum0 = svdup_n_f32(0), sum1 = sum0, square0 = sum0, square1 = sum0;
  for (std::size_t k = 0; k < columns; k += svcnth()) {
    if constexpr (kAhead != PrefetchHint::kNone) {
      const auto* from = reinterpret_cast<const std::byte*>(row + k);
      for (std::size_t at = 0; at < svcntb(); at += kLine) {
        if ((k * sizeof(Bf16) + at) % kLine == 0) prefetch<kAhead>(from + at + ahead);
      }
    }
    const svbool_t first = svwhilelt_b32_u64(k, columns), last = svwhilelt_b32_u64(k + svcntw(), columns);
    const svuint16_t halves = load_halves(svwhilelt_b16_u64(k, columns), row + k);
    const svfloat32_t x = svsub_n_f32_x(all, first_floats(halves), shift);
    const svfloat32_t y = svsub_n_f32_x(all, last_floats(halves), shift);
    sum0 = svadd_f32_m(first, sum0, x);
    sum1 = svadd_f32_m(last, sum1, y);
    square0 = svmla_f32_m(first, square0, x, x);
    square1 = svmla_f32_m(last, square1, y, y);
  }
  const float sum = svaddv_f32(all, svadd_f32_x(all, sum0, sum1));
  const float squares = svaddv_f32(all, svadd_f32_x(all, square0, square1));
  const float mean = sum / static_cast<float>(columns);
  const float variance = (squares - sum * mean) / static_cast<float>(columns);
  const bool is_trusted = mean * mean <= 64 * variance && variance > 1e-30F && variance < 1e30F;
  if (!is_trusted) return moments_by_centring(row, columns);
  return {mean + shift, 1.0F / std::sqrt(variance + kNormEpsilon)};
}

/// The bf16 result is in the upper halves.
[[gnu::always_inline]] inline svuint16_t normal(svbool_t some, svfloat32_t x, const Moments& of,
                                                svfloat32_t gamma, svfloat32_t beta) {
  const svfloat32_t centred = svmul_n_f32_x(some, svsub_n_f32_x(some, x, of.mean), of.scale);
  const svuint32_t bits = svreinterpret_u32_f32(svmad_f32_x(some, centred, gamma, beta));
  const svuint32_t last = svand_n_u32_x(some, svlsr_n_u32_x(some, bits, 16), 1);
  return svreinterpret_u16_u32(svadd_u32_x(some, bits, svadd_n_u32_x(some, last, 0x7fff)));
}

/// Adjacent rows share the loads of gamma and beta.
template <int kRows, bool kStream>
[[gnu::always_inline]] inline void block(const Bf16* x, std::size_t columns, const float* gamma,
                                         const float* beta, NormWalk walk, Bf16* y) {
  Moments of[kRows];
  for (int i = 0; i < kRows; ++i) {
    const Bf16* row = x + static_cast<std::size_t>(i) * columns;
    of[i] = walk.ahead > 0 ? moments_of<PrefetchHint::kLargerCaches>(row, columns, walk.ahead)
                           : moments_of<PrefetchHint::kNone>(row, columns, 0);
  }
  for (std::size_t k = 0; k < columns; k += svcnth()) {
    const std::size_t next = k + svcntw();
    const svbool_t some = svwhilelt_b16_u64(k, columns);
    const svbool_t first = svwhilelt_b32_u64(k, columns), last = svwhilelt_b32_u64(next, columns);
    const svfloat32_t gamma0 = svld1_f32(first, gamma + k), gamma1 = svld1_f32(last, gamma + next);
    const svfloat32_t beta0 = svld1_f32(first, beta + k), beta1 = svld1_f32(last, beta + next);
    for (int i = 0; i < kRows; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * columns + k;
      if (walk.next_block)
        prefetch<PrefetchHint::kLargerCaches>(x + at + static_cast<std::size_t>(kRows) * columns);
      const svuint16_t halves = load_halves(some, x + at);
      const svuint16_t results = svuzp2_u16(normal(first, first_floats(halves), of[i], gamma0, beta0),
                                            normal(last, last_floats(halves), of[i], gamma1, beta1));
      auto* const to = reinterpret_cast<std::uint16_t*>(y + at);
      if constexpr (kStream) {
        svstnt1_u16(some, to, results);
      } else {
        svst1_u16(some, to, results);
      }
    }
  }
}

template <int kRows, bool kStream>
void blocks(const Bf16* x, std::size_t rows, std::size_t columns, const float* gamma, const float* beta,
            NormWalk walk, Bf16* y) {
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows)
    block<kRows, kStream>(x + row * columns, columns, gamma, beta, walk, y + row * columns);
  for (; row < rows; ++row)
    block<1, kStream>(x + row * columns, columns, gamma, beta, walk, y + row * columns);
}

template <bool kStream>
void norm_rows_as(const Bf16* x, std::size_t rows, std::size_t columns, const float* gamma, NormWalk walk,
                  Bf16* y) {
  const float* const beta = gamma + columns;
  if (walk.rows >= 4) return blocks<4, kStream>(x, rows, columns, gamma, beta, walk, y);
  if (walk.rows >= 2) return blocks<2, kStream>(x, rows, columns, gamma, beta, walk, y);
  blocks<1, kStream>(x, rows, columns, gamma, beta, walk, y);
}

HEADROOM_END_SVE

void prepare(const float* gamma, const float* beta, std::size_t columns, float* prepared) {
  for (std::size_t k = 0; k < columns; ++k) {
    prepared[k] = gamma[k];
    prepared[columns + k] = beta[k];
  }
}

void norm_rows(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
               Bf16* y) {
  if (walk.stores == Stores::kNontemporal) return norm_rows_as<true>(x, rows, columns, prepared, walk, y);
  norm_rows_as<false>(x, rows, columns, prepared, walk, y);
}

}  // namespace

NormKernel norm_sve() {
  return {prepare, norm_rows, portable_norm_kernel(Isa::kBaseline).vector, "SVE"};
}

}  // namespace headroom::native
#endif
