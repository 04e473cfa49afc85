// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>

#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/weight_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/kernels/gemv/gemv_blocks.cpp"
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

HWY_INLINE hn::Vec<Integers> load_integers(const std::byte* from) {
  return hn::PromoteTo(Integers(), hn::LoadU(Bytes(), reinterpret_cast<const std::int8_t*>(from)));
}

/// x as floats, then eight times each block's sum: the zero of 4-bit numbers is 8.
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

HWY_INLINE Vector products_of_int8(const std::byte* numbers, const float* x) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector sums = hn::Mul(hn::ConvertTo(tag, load_integers(numbers)), hn::LoadU(tag, x));
  for (std::size_t k = lanes; k < kBlockColumns; k += lanes)
    sums = hn::MulAdd(hn::ConvertTo(tag, load_integers(numbers + k)), hn::LoadU(tag, x + k), sums);
  return sums;
}

/// Does not subtract 8. The bytes' low halves are the first sixteen columns.
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

/// Two sums per row hide the latency of additions.
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

constexpr std::size_t kLine = 64, kSuper = 256;
constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);

/// Layouts of ggml-common.h. Q4, Q5: two binary16 scales (of factors, of minima), then factors and minima in
/// 6 bits. Q6: scales at the end.
struct Q4 {
  static constexpr std::size_t kBytes = 144, kBits = 16;
  static constexpr bool kHasFifth = false;
};
struct Q5 {
  static constexpr std::size_t kBytes = 176, kBits = 48, kFifths = 16;
  static constexpr bool kHasFifth = true;
};
struct Q6 {
  static constexpr std::size_t kBytes = 210, kUpper = 128, kScales = 192, kScale = 208;
};

HWY_INLINE Vector eights(float first, [[maybe_unused]] float second) {
#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET)
  if constexpr (kLanes == 16)
    return hn::IfThenElse(hn::FirstN(F32(), 8), hn::Set(F32(), first), hn::Set(F32(), second));
#endif
  return hn::Set(F32(), first);
}

/// Eight factors, then eight minima (get_scale_min_k4 of ggml-quants.c), scaled.
HWY_INLINE void scales_of(const std::byte* block, float* scales) {
  std::uint32_t packed[3], parts[4];
  std::memcpy(packed, block + 4, sizeof packed);
  const std::uint32_t pairs = 0x03030303U, fours = 0x0f0f0f0fU, sixes = 0x3f3f3f3fU;
  parts[0] = packed[0] & sixes;
  parts[1] = (packed[2] & fours) | (packed[0] >> 6U & pairs) << 4U;
  parts[2] = packed[1] & sixes;
  parts[3] = (packed[2] >> 4U & fours) | (packed[1] >> 6U & pairs) << 4U;
  const F32 tag;
  const float scale = block_scale(block), least = block_scale(block + 2);
  const auto* bytes = reinterpret_cast<const std::int8_t*>(parts);
  for (std::size_t i = 0; i < 16; i += kLanes) {
    const Vector factors = hn::ConvertTo(tag, hn::PromoteTo(Integers(), hn::LoadU(Bytes(), bytes + i)));
    hn::StoreU(hn::Mul(factors, i < 8 ? eights(scale, least) : hn::Set(tag, least)), tag, scales + i);
  }
}

HWY_INLINE void scales_of_six(const std::byte* block, float* scales) {
  const F32 tag;
  const Vector scale = hn::Set(tag, block_scale(block + Q6::kScale));
  const auto* bytes = reinterpret_cast<const std::int8_t*>(block + Q6::kScales);
  for (std::size_t i = 0; i < 16; i += kLanes) {
    const Vector factors = hn::ConvertTo(tag, hn::PromoteTo(Integers(), hn::LoadU(Bytes(), bytes + i)));
    hn::StoreU(hn::Mul(factors, scale), tag, scales + i);
  }
}

HWY_INLINE hn::Vec<Integers> bits_of(hn::Vec<Integers> bytes, std::int32_t mask) {
  return hn::And(bytes, hn::Set(Integers(), mask));
}
HWY_INLINE Vector as_floats(hn::Vec<Integers> integers) {
  return hn::ConvertTo(F32(), integers);
}

/// Upper bits stay in place, scaled by a power of two (exact).
template <typename Format>
HWY_INLINE void read_block(const std::byte* block, float* to) {
  const F32 tag;
  float scales[16];
  scales_of(block, scales);
  for (std::size_t part = 0; part < 8; ++part) {
    const Vector scale = hn::Set(tag, scales[part]), least = hn::Set(tag, scales[8 + part]);
    const std::byte* const bits = block + Format::kBits + part / 2 * 32;
    for (std::size_t i = 0; i < 32; i += kLanes) {
      const auto two = load_integers(bits + i);
      Vector number = as_floats(part % 2 == 0 ? bits_of(two, 15) : bits_of(hn::ShiftRight<4>(two), 15));
      if constexpr (Format::kHasFifth) {
        const auto fifth = bits_of(load_integers(block + Format::kFifths + i), 1 << part);
        const Vector factor = hn::Set(tag, 16.0F / static_cast<float>(1 << part));
        number = hn::MulAdd(as_floats(fifth), factor, number);
      }
      hn::StoreU(hn::Sub(hn::Mul(scale, number), least), tag, to + part * 32 + i);
    }
  }
}

template <>
HWY_INLINE void read_block<Q6>(const std::byte* block, float* to) {
  const F32 tag;
  float scales[16];
  scales_of_six(block, scales);
  for (std::size_t part = 0; part < 8; ++part) {  // 32 numbers each
    const std::size_t half = part / 4, quarter = part % 4;
    const std::byte* const low = block + 64 * half + quarter % 2 * 32;
    const std::byte* const upper = block + Q6::kUpper + 32 * half;
    const Vector factor = hn::Set(tag, 16.0F / static_cast<float>(1 << (2 * quarter)));
    for (std::size_t i = 0; i < 32; i += kLanes) {
      const auto two = load_integers(low + i);
      const Vector four = as_floats(quarter < 2 ? bits_of(two, 15) : bits_of(hn::ShiftRight<4>(two), 15));
      const auto more = bits_of(load_integers(upper + i), 3 << (2 * quarter));
      const Vector number = hn::Sub(hn::MulAdd(as_floats(more), factor, four), hn::Set(tag, 32.0F));
      hn::StoreU(hn::Mul(number, hn::Set(tag, scales[2 * part + i / 16])), tag, to + part * 32 + i);
    }
  }
}

template <typename Format>
void unpack_as(const std::byte* from, std::size_t columns, std::size_t ahead, Bf16* to) {
  float values[kSuper];
  for (std::size_t k = 0; k < columns; k += kSuper, from += Format::kBytes) {
    for (std::size_t line = 0; ahead > 0 && line < Format::kBytes; line += kLine)
      prefetch<PrefetchHint::kAllCaches>(from + ahead + line);
    read_block<Format>(from, values);
    for (std::size_t i = 0; i < kSuper; i += kLanes) store_rounded(hn::LoadU(F32(), values + i), to + k + i);
  }
}

void unpack_super(std::string_view dtype, const std::byte* from, std::size_t columns, std::size_t ahead,
                  Bf16* to) {
  if (dtype == "q4_k") return unpack_as<Q4>(from, columns, ahead, to);
  if (dtype == "q5_k") return unpack_as<Q5>(from, columns, ahead, to);
  unpack_as<Q6>(from, columns, ahead, to);
}

void prepare_super_floats(const Bf16* x, std::size_t columns, std::byte* prepared) {
  auto* const plain = reinterpret_cast<float*>(prepared);
  for (std::size_t k = 0; k < columns; ++k) plain[k] = to_float(x[k]);
}

template <typename Format>
void multiply_floats(const std::byte* weights, std::size_t rows, std::size_t columns,
                     const std::byte* prepared, GemvWalk /*walk*/, float* y) {
  const F32 tag;
  const auto* const x = reinterpret_cast<const float*>(prepared);
  float values[kSuper];
  for (std::size_t row = 0; row < rows; ++row) {
    Vector first = hn::Zero(tag), second = first;
    for (std::size_t k = 0; k < columns; k += kSuper, weights += Format::kBytes) {
      read_block<Format>(weights, values);
      for (std::size_t i = 0; i < kSuper; i += 2 * kLanes) {
        first = hn::MulAdd(hn::LoadU(tag, values + i), hn::LoadU(tag, x + k + i), first);
        second = hn::MulAdd(hn::LoadU(tag, values + i + kLanes), hn::LoadU(tag, x + k + i + kLanes), second);
      }
    }
    y[row] = sum_of(hn::Add(first, second));
  }
}

#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET)
using I16 = hn::Repartition<std::int16_t, F32>;
using U8 = hn::Rebind<std::uint8_t, I16>;
constexpr std::size_t kStep = 2 * kLanes;  // 16-bit numbers
constexpr std::size_t kSteps = 32 / kStep;

/// x as 16-bit integers, then sixteen floats a block; the last eight are sums of 32 values, for the minima.
void prepare_super(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const FixedPoint point = fixed_point(x, columns, 32767, columns, prepared);
  if (!point.fits) return prepare_super_floats(x, columns, prepared + kLine);
  auto* const fixed = reinterpret_cast<std::int16_t*>(prepared + kLine);
  auto* sums = reinterpret_cast<float*>(fixed + columns);
  const F32 tag;
  const hn::Rebind<std::uint16_t, F32> halves;
  const hn::Rebind<std::int16_t, F32> narrow;
  const Vector scale = hn::Set(tag, point.scale);
  for (std::size_t k = 0; k < columns; k += kLanes) {
    const auto words = hn::ShiftLeft<16>(hn::PromoteTo(Words(), hn::LoadU(halves, &x[k].bits)));
    const auto scaled = hn::NearestInt(hn::Mul(hn::BitCast(tag, words), scale));
    hn::StoreU(hn::DemoteTo(narrow, scaled), narrow, fixed + k);  // saturates to 16 bits
  }
  for (std::size_t k = 0; k < columns; k += kSuper, sums += 16) {
    for (std::size_t part = 0; part < 8; ++part) {
      std::int32_t sum = 0;
      for (std::size_t i = 0; i < 32; ++i) sum += fixed[k + part * 32 + i];
      sums[part] = 0;
      sums[8 + part] = static_cast<float>(sum);
    }
  }
}

HWY_INLINE hn::Vec<I16> load_wide(const std::byte* from) {
  return hn::PromoteTo(I16(), hn::LoadU(U8(), reinterpret_cast<const std::uint8_t*>(from)));
}
HWY_INLINE hn::Vec<I16> masked(hn::Vec<I16> value, std::int16_t mask) {
  return hn::And(value, hn::Set(I16(), mask));
}

/// Sums in pairs; some targets keep two vectors.
struct PairSums {
  hn::Vec<Integers> even, odd;

  HWY_INLINE PairSums() : even(hn::Zero(Integers())), odd(even) {}
  HWY_INLINE void add(hn::Vec<I16> weights, const std::int16_t* x) {
    even = hn::ReorderWidenMulAccumulate(Integers(), weights, hn::LoadU(I16(), x), even, odd);
  }
  HWY_INLINE Vector total() const { return hn::ConvertTo(F32(), hn::Add(even, odd)); }
};

/// Adds a block times x, in two chains of sums.
template <typename Format>
HWY_INLINE void add_block(const std::byte* block, const std::int16_t* x, const float* x_sums,
                          Vector (&sums)[2]) {
  const F32 tag;
  alignas(kLine) float scales[16];
  scales_of(block, scales);
  [[maybe_unused]] hn::Vec<I16> fifths[kSteps];
  if constexpr (Format::kHasFifth) {
    for (std::size_t v = 0; v < kSteps; ++v)
      fifths[v] = hn::ShiftLeft<4>(load_wide(block + Format::kFifths + v * kStep));
  }
  HEADROOM_UNROLL(4)
  for (std::size_t part = 0; part < 4; ++part) {
    PairSums low, high;
    HEADROOM_UNROLL(4)
    for (std::size_t v = 0; v < kSteps; ++v) {
      const auto two = load_wide(block + Format::kBits + part * 32 + v * kStep);
      auto first = masked(two, 15), second = hn::ShiftRight<4>(two);
      if constexpr (Format::kHasFifth) {
        first = hn::Or(first, masked(fifths[v], 16));
        second = hn::Or(second, masked(hn::ShiftRight<1>(fifths[v]), 16));
        fifths[v] = hn::ShiftRight<2>(fifths[v]);
      }
      low.add(first, x + part * 64 + v * kStep);
      high.add(second, x + part * 64 + 32 + v * kStep);
    }
    sums[0] = hn::MulAdd(low.total(), hn::Set(tag, scales[2 * part]), sums[0]);
    sums[1] = hn::MulAdd(high.total(), hn::Set(tag, scales[2 * part + 1]), sums[1]);
  }
  for (std::size_t i = kLanes == 16 ? 0 : 8; i < 16; i += kLanes)
    sums[1] = hn::NegMulAdd(hn::LoadU(tag, scales + i), hn::LoadU(tag, x_sums + i), sums[1]);
}

/// `number` is a multiple of kStep; a scale covers sixteen numbers.
HWY_INLINE Vector scales_at(const float* scales, std::size_t number) {
  return eights(scales[number / 16], scales[number / 16 + (kStep == 32 ? 1 : 0)]);
}

template <>
HWY_INLINE void add_block<Q6>(const std::byte* block, const std::int16_t* x, const float* /*x_sums*/,
                              Vector (&sums)[2]) {
  alignas(kLine) float scales[16];
  scales_of_six(block, scales);
  const auto zero = hn::Set(I16(), std::int16_t{32});
  HEADROOM_UNROLL(2)
  for (std::size_t half = 0; half < 2; ++half) {
    HEADROOM_UNROLL(4)
    for (std::size_t v = 0; v < kSteps; ++v) {
      const std::byte* const low = block + 64 * half + v * kStep;
      const auto one = load_wide(low), other = load_wide(low + 32);
      const auto upper = load_wide(block + Q6::kUpper + 32 * half + v * kStep);
      const hn::Vec<I16> numbers[4] = {
          hn::Or(masked(one, 15), masked(hn::ShiftLeft<4>(upper), 48)),
          hn::Or(masked(other, 15), masked(hn::ShiftLeft<2>(upper), 48)),
          hn::Or(hn::ShiftRight<4>(one), masked(upper, 48)),
          hn::Or(hn::ShiftRight<4>(other), masked(hn::ShiftRight<2>(upper), 48))};
      HEADROOM_UNROLL(4)
      for (std::size_t quarter = 0; quarter < 4; ++quarter) {
        const std::size_t number = 128 * half + 32 * quarter + v * kStep;
        PairSums products;
        products.add(hn::Sub(numbers[quarter], zero), x + number);
        sums[quarter % 2] = hn::MulAdd(products.total(), scales_at(scales, number), sums[quarter % 2]);
      }
    }
  }
}

template <typename Format, PrefetchHint kAhead>
HWY_INLINE void multiply_rows(const std::byte* weights, std::size_t rows, std::size_t columns,
                              const std::byte* prepared, float step, GemvWalk walk, float* y) {
  const std::size_t blocks = columns / kSuper;
  const auto* const x = reinterpret_cast<const std::int16_t*>(prepared);
  const auto* const x_sums = reinterpret_cast<const float*>(x + columns);
  const RowGroups groups(rows, walk.apart);
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const FourRows four = groups.at(group);
    Vector sums[4][2];
    for (auto& row : sums) row[0] = row[1] = hn::Zero(F32());
    for (std::size_t block = 0; block < blocks; ++block) {
      HEADROOM_UNROLL(4)
      for (std::size_t i = 0; i < 4; ++i) {
        const std::byte* const at = weights + (four.row[i] * blocks + block) * Format::kBytes;
        for (std::size_t line = 0; kAhead != PrefetchHint::kNone && line < Format::kBytes; line += kLine)
          prefetch<kAhead>(at + walk.ahead + line);
        add_block<Format>(at, x + block * kSuper, x_sums + block * 16, sums[i]);
      }
    }
    float totals[4];
    for (std::size_t i = 0; i < 4; ++i) totals[i] = sum_of(hn::Add(sums[i][0], sums[i][1])) * step;
    four.store(totals, y);
  }
}

template <typename Format>
HWY_INLINE void multiply_fixed(const std::byte* weights, std::size_t rows, std::size_t columns,
                               const std::byte* prepared, GemvWalk walk, float* y) {
  const FixedHeader header = header_of(prepared);
  prepared += kLine;
  if (!header.is_fixed) return multiply_floats<Format>(weights, rows, columns, prepared, walk, y);
  if (walk.ahead == 0)
    return multiply_rows<Format, PrefetchHint::kNone>(weights, rows, columns, prepared, header.step, walk, y);
  multiply_rows<Format, PrefetchHint::kLargerCaches>(weights, rows, columns, prepared, header.step, walk, y);
}
#else
// Compiler vectors have no products of 16 bits.
void prepare_super(const Bf16* x, std::size_t columns, std::byte* prepared) {
  prepare_super_floats(x, columns, prepared);
}
template <typename Format>
HWY_INLINE void multiply_fixed(const std::byte* weights, std::size_t rows, std::size_t columns,
                               const std::byte* prepared, GemvWalk walk, float* y) {
  multiply_floats<Format>(weights, rows, columns, prepared, walk, y);
}
#endif

void multiply_q4(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                 GemvWalk walk, float* y) {
  multiply_fixed<Q4>(weights, rows, columns, prepared, walk, y);
}
void multiply_q5(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                 GemvWalk walk, float* y) {
  multiply_fixed<Q5>(weights, rows, columns, prepared, walk, y);
}
void multiply_q6(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                 GemvWalk walk, float* y) {
  multiply_fixed<Q6>(weights, rows, columns, prepared, walk, y);
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
          round, vector_target(isa), Residency::kFar};
}

GemvKernel gemv_super_blocks(std::string_view dtype, Isa isa) {
  const bool is_fixed = has_highway_vectors(isa);
  GemvKernel kernel{HEADROOM_HIGHWAY_FUNCTION(prepare_super, isa),
                    nullptr,
                    portable_gemv_kernel("bf16", isa).round,
                    vector_target(isa),
                    kFourStreams,
                    is_fixed ? "int8" : "bf16"};
  if (is_fixed) kernel.isa += ", x in 16 bits";
  if (dtype == "q4_k") {
    kernel.multiply = HEADROOM_HIGHWAY_FUNCTION(multiply_q4, isa);
  } else if (dtype == "q5_k") {
    kernel.multiply = HEADROOM_HIGHWAY_FUNCTION(multiply_q5, isa);
  } else {
    kernel.multiply = HEADROOM_HIGHWAY_FUNCTION(multiply_q6, isa);
  }
  return kernel;
}

UnpackSuperBlocks unpack_super_blocks(Isa isa) {
  return HEADROOM_HIGHWAY_FUNCTION(unpack_super, isa);
}

}  // namespace headroom::native
#endif
