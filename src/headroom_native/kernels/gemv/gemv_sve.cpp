// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#if HEADROOM_HAS_SVE
#include <arm_sve.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

namespace headroom::native {
namespace {

HEADROOM_BEGIN_SVE

constexpr std::size_t kLine = 64;

#include "headroom_native/kernels/gemv/gemv_walks.h"

[[gnu::always_inline]] inline const std::uint16_t* bits_of(const Bf16* values) {
  return reinterpret_cast<const std::uint16_t*>(values);
}
/// A bf16 is the upper half of a float.
[[gnu::always_inline]] inline svfloat32_t load_floats(svbool_t lanes, const Bf16* from) {
  return svreinterpret_f32_u32(svlsl_n_u32_x(lanes, svld1uh_u32(lanes, bits_of(from)), 16));
}
[[gnu::always_inline]] inline svfloat32_t load_floats(svbool_t lanes, const std::int8_t* from) {
  return svcvt_f32_s32_x(lanes, svld1sb_s32(lanes, from));
}

/// Takes `step()` columns at a time, in two sums. No arrays: SVE vectors are sizeless.
template <typename Arithmetic>
struct Kernel {
  using Weight = typename Arithmetic::Weight;
  using Sum = typename Arithmetic::Sum;

  template <int kRows, PrefetchHint kAhead>
  [[gnu::always_inline]] static void dot(const Weight* const* rows, std::size_t columns,
                                         const std::byte* prepared, std::size_t ahead, float* y) {
    const std::size_t step = Arithmetic::step(), block = 4 * step;
    const Arithmetic with(prepared, columns);
    Sum a0 = Arithmetic::zero(), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    std::size_t k = 0;
    for (; k + block <= columns; k += block) {
      if constexpr (kAhead != PrefetchHint::kNone) {
        HEADROOM_UNROLL(4)
        for (int i = 0; i < kRows; ++i) {
          const auto* from = reinterpret_cast<const std::byte*>(rows[i] + k) + ahead;
          for (std::size_t at = 0; at < block * sizeof(Weight); at += kLine) prefetch<kAhead>(from + at);
        }
      }
      if constexpr (kRows == 1) {
        with.add(rows[0], k, a0, b0);
        with.add(rows[0], k + step, a1, b1);
        with.add(rows[0], k + 2 * step, a2, b2);
        with.add(rows[0], k + 3 * step, a3, b3);
      } else if constexpr (kRows == 2) {
        HEADROOM_UNROLL(2)
        for (std::size_t at = k; at < k + block; at += 2 * step) {
          with.add(rows[0], at, a0, b0);
          with.add(rows[1], at, a1, b1);
          with.add(rows[0], at + step, a2, b2);
          with.add(rows[1], at + step, a3, b3);
        }
      } else {
        HEADROOM_UNROLL(4)
        for (std::size_t at = k; at < k + block; at += step) {
          with.add(rows[0], at, a0, b0);
          with.add(rows[1], at, a1, b1);
          with.add(rows[2], at, a2, b2);
          with.add(rows[3], at, a3, b3);
        }
      }
    }
    with.add_last(rows[0], k, columns, a0, b0);
    if constexpr (kRows >= 2) with.add_last(rows[1], k, columns, a1, b1);
    if constexpr (kRows == 4) {
      with.add_last(rows[2], k, columns, a2, b2);
      with.add_last(rows[3], k, columns, a3, b3);
    }
    if constexpr (kRows == 1) {
      a0 = Arithmetic::sum(a0, a1), b0 = Arithmetic::sum(b0, b1);
      a2 = Arithmetic::sum(a2, a3), b2 = Arithmetic::sum(b2, b3);
    }
    if constexpr (kRows <= 2) {
      a0 = Arithmetic::sum(a0, a2), b0 = Arithmetic::sum(b0, b2);
      a1 = Arithmetic::sum(a1, a3), b1 = Arithmetic::sum(b1, b3);
    }
    y[0] = Arithmetic::total(a0, b0);
    if constexpr (kRows >= 2) y[1] = Arithmetic::total(a1, b1);
    if constexpr (kRows == 4) {
      y[2] = Arithmetic::total(a2, b2);
      y[3] = Arithmetic::total(a3, b3);
    }
  }
};

struct FloatSums {
  using Sum = svfloat32_t;
  [[gnu::always_inline]] static Sum zero() { return svdup_n_f32(0); }
  [[gnu::always_inline]] static Sum sum(Sum a, Sum b) { return svadd_f32_x(svptrue_b32(), a, b); }
  [[gnu::always_inline]] static float total(Sum a, Sum b) { return svaddv_f32(svptrue_b32(), sum(a, b)); }
};

template <typename Number>
struct Exact : FloatSums {
  using Weight = Number;
  const float* x;

  [[gnu::always_inline]] Exact(const std::byte* prepared, std::size_t)
      : x(reinterpret_cast<const float*>(prepared)) {}
  [[gnu::always_inline]] static std::size_t step() { return 2 * svcntw(); }
  [[gnu::always_inline]] void add(const Weight* row, std::size_t at, Sum& a, Sum& b) const {
    const svbool_t all = svptrue_b32();
    const std::size_t next = at + svcntw();
    a = svmla_f32_x(all, a, load_floats(all, row + at), svld1_f32(all, x + at));
    b = svmla_f32_x(all, b, load_floats(all, row + next), svld1_f32(all, x + next));
  }
  [[gnu::always_inline]] void add_last(const Weight* row, std::size_t at, std::size_t columns, Sum& a,
                                       Sum&) const {
    for (; at < columns; at += svcntw()) {
      const svbool_t some = svwhilelt_b32_u64(at, columns);
      a = svmla_f32_m(some, a, load_floats(some, row + at), svld1_f32(some, x + at));
    }
  }
};

void prepare_floats(const Bf16* x, std::size_t columns, std::byte* prepared) {
  auto* const floats = reinterpret_cast<float*>(prepared);
  for (std::size_t k = 0; k < columns; k += svcntw()) {
    const svbool_t some = svwhilelt_b32_u64(k, columns);
    svst1_f32(some, floats + k, load_floats(some, x + k));
  }
}
template <typename Weight>
void multiply_exactly(const std::byte* weights, std::size_t rows, std::size_t columns,
                      const std::byte* prepared, GemvWalk walk, float* y) {
  multiply<Kernel<Exact<Weight>>>(weights, rows, columns, prepared, walk, y);
}

/// q = 256 high + low in signed bytes: all of high, then all of low.
constexpr float kLargest = 127.0F * 257;
/// A lane's sum of products of at most 128 * 128 stays below 2^31.
constexpr std::size_t kMostColumns = std::size_t{1} << 18;

/// Separate sums for high and low.
struct Planes {
  using Weight = std::int8_t;
  using Sum = svint32_t;
  const std::int8_t *high, *low;

  [[gnu::always_inline]] Planes(const std::byte* prepared, std::size_t columns)
      : high(reinterpret_cast<const std::int8_t*>(prepared)), low(high + columns) {}
  [[gnu::always_inline]] static std::size_t step() { return svcntb(); }
  [[gnu::always_inline]] static Sum zero() { return svdup_n_s32(0); }
  [[gnu::always_inline]] static Sum sum(Sum a, Sum b) { return svadd_s32_x(svptrue_b32(), a, b); }
  [[gnu::always_inline]] static float total(Sum a, Sum b) {
    return static_cast<float>(256 * svaddv_s32(svptrue_b32(), a) + svaddv_s32(svptrue_b32(), b));
  }
  [[gnu::always_inline]] void add(svbool_t some, const Weight* row, std::size_t at, Sum& a, Sum& b) const {
    const svint8_t weights = svld1_s8(some, row + at);
    a = svdot_s32(a, weights, svld1_s8(some, high + at));
    b = svdot_s32(b, weights, svld1_s8(some, low + at));
  }
  [[gnu::always_inline]] void add(const Weight* row, std::size_t at, Sum& a, Sum& b) const {
    add(svptrue_b8(), row, at, a, b);
  }
  [[gnu::always_inline]] void add_last(const Weight* row, std::size_t at, std::size_t columns, Sum& a,
                                       Sum& b) const {
    for (; at < columns; at += svcntb()) add(svwhilelt_b8_u64(at, columns), row, at, a, b);
  }
};

void prepare_planes(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const FixedPoint point = fixed_point(x, columns, kLargest, kMostColumns, prepared);
  if (!point.fits) return prepare_floats(x, columns, prepared + kLine);
  auto* const high = reinterpret_cast<std::int8_t*>(prepared + kLine);
  for (std::size_t k = 0; k < columns; k += svcntw()) {
    const svbool_t some = svwhilelt_b32_u64(k, columns);
    const svfloat32_t scaled = svmul_n_f32_x(some, load_floats(some, x + k), point.scale);
    // Rounding the scale may push the largest x out of range.
    const svfloat32_t held = svmax_n_f32_x(some, svmin_n_f32_x(some, scaled, kLargest), -kLargest);
    const svint32_t fixed = svcvt_s32_f32_x(some, svrintn_f32_x(some, held));
    const svint32_t upper = svasr_n_s32_x(some, svadd_n_s32_x(some, fixed, 128), 8);
    svst1b_s32(some, high + k, upper);
    svst1b_s32(some, high + columns + k, svmls_n_s32_x(some, fixed, upper, 256));
  }
}

void multiply_planes(const std::byte* weights, std::size_t rows, std::size_t columns,
                     const std::byte* prepared, GemvWalk walk, float* y) {
  const FixedHeader header = header_of(prepared);
  if (!header.is_fixed)
    return multiply_exactly<std::int8_t>(weights, rows, columns, prepared + kLine, walk, y);
  multiply<Kernel<Planes>>(weights, rows, columns, prepared + kLine, walk, y);
  for (std::size_t row = 0; row < rows; ++row) y[row] *= header.step;
}

struct Pairs : FloatSums {
  using Weight = Bf16;
  const Bf16* x;

  [[gnu::always_inline]] Pairs(const std::byte* prepared, std::size_t)
      : x(reinterpret_cast<const Bf16*>(prepared)) {}
  [[gnu::always_inline]] static std::size_t step() { return 2 * svcnth(); }
  [[gnu::always_inline]] static Sum added(svbool_t some, Sum sum, const Bf16* row, const Bf16* x) {
    return svbfdot_f32(sum, svreinterpret_bf16_u16(svld1_u16(some, bits_of(row))),
                       svreinterpret_bf16_u16(svld1_u16(some, bits_of(x))));
  }
  [[gnu::always_inline]] void add(const Bf16* row, std::size_t at, Sum& a, Sum& b) const {
    const std::size_t next = at + svcnth();
    a = added(svptrue_b16(), a, row + at, x + at);
    b = added(svptrue_b16(), b, row + next, x + next);
  }
  [[gnu::always_inline]] void add_last(const Bf16* row, std::size_t at, std::size_t columns, Sum& a,
                                       Sum&) const {
    for (; at < columns; at += svcnth()) a = added(svwhilelt_b16_u64(at, columns), a, row + at, x + at);
  }
};

void prepare_pairs(const Bf16* x, std::size_t columns, std::byte* prepared) {
  std::memcpy(prepared, x, columns * sizeof(Bf16));
}
void multiply_pairs(const std::byte* weights, std::size_t rows, std::size_t columns,
                    const std::byte* prepared, GemvWalk walk, float* y) {
  multiply<Kernel<Pairs>>(weights, rows, columns, prepared, walk, y);
}

/// Rounds to nearest even; a NaN stays a quiet NaN.
void round_to_bf16(const float* x, std::size_t count, Bf16* y) {
  for (std::size_t k = 0; k < count; k += svcntw()) {
    const svbool_t some = svwhilelt_b32_u64(k, count);
    const svfloat32_t value = svld1_f32(some, x + k);
    const svuint32_t bits = svreinterpret_u32_f32(value);
    const svuint32_t last = svand_n_u32_x(some, svlsr_n_u32_x(some, bits, 16), 1);
    const svuint32_t rounded = svadd_u32_x(some, bits, svadd_n_u32_x(some, last, 0x7fff));
    const svuint32_t quiet = svorr_n_u32_x(some, bits, 0x400000);
    const svuint32_t kept = svsel_u32(svcmpuo_f32(some, value, value), quiet, rounded);
    svst1h_u32(some, reinterpret_cast<std::uint16_t*>(y + k), svlsr_n_u32_x(some, kept, 16));
  }
}

std::string vectors() {
  return "SVE " + std::to_string(8 * svcntb());
}

HEADROOM_END_SVE

}  // namespace

GemvKernel gemv_sve_exact(std::string_view dtype) {
  if (dtype == "bf16") {
    return {prepare_floats, multiply_exactly<Bf16>, round_to_bf16, vectors(), kFourStreams};
  }
  return {prepare_floats, multiply_exactly<std::int8_t>, round_to_bf16, vectors(), kFourStreams};
}

GemvKernel gemv_sve_dot() {
  return {prepare_planes, multiply_planes, round_to_bf16, vectors() + ", sdot, x in 16 bits",
          kFourStreams,   "int8"};
}

GemvKernel gemv_sve_bf16() {
  return {prepare_pairs, multiply_pairs, round_to_bf16, vectors() + ", bfdot", kFourStreams};
}

}  // namespace headroom::native
#endif
