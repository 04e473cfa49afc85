// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "headroom_native/kernels/avx512_sums.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

/// int8 to bf16 (exact) with vpermi2b, by tables of 128 upper and lower bytes. x is split into even and odd
/// columns, like a register's bytes.
namespace headroom::native {
namespace {

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512vbmi,avx512bf16")

constexpr std::size_t kLine = 64;

/// bf16 of 0 to 127 and -128 to -1, indexed by the byte without its sign.
struct Tables {
  std::array<std::array<std::uint8_t, 128>, 2> upper, lower;
};
constexpr std::uint16_t bf16_bits(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}
constexpr Tables make_tables() {
  Tables tables{};
  for (int i = 0; i < 128; ++i) {
    for (int sign = 0; sign < 2; ++sign) {
      const std::uint16_t bits = bf16_bits(sign == 0 ? i : i - 128);
      tables.upper[static_cast<std::size_t>(sign)][static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(bits >> 8);
      tables.lower[static_cast<std::size_t>(sign)][static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(bits);
    }
  }
  return tables;
}
alignas(64) constexpr Tables kTables = make_tables();

struct Lookup {
  __m512i positive[2], negative[2];

  [[gnu::always_inline]] explicit Lookup(const std::array<std::array<std::uint8_t, 128>, 2>& bytes)
      : positive{_mm512_loadu_si512(bytes[0].data()), _mm512_loadu_si512(bytes[0].data() + 64)},
        negative{_mm512_loadu_si512(bytes[1].data()), _mm512_loadu_si512(bytes[1].data() + 64)} {}
  [[gnu::always_inline]] __m512i of(__m512i weights, __mmask64 is_negative) const {
    return _mm512_mask_blend_epi8(is_negative, _mm512_permutex2var_epi8(positive[0], weights, positive[1]),
                                  _mm512_permutex2var_epi8(negative[0], weights, negative[1]));
  }
};

constexpr std::array<std::uint16_t, 32> every_other(int first) {
  std::array<std::uint16_t, 32> which{};
  for (std::size_t i = 0; i < which.size(); ++i) {
    which[i] = static_cast<std::uint16_t>(2 * i + static_cast<std::size_t>(first));
  }
  return which;
}
constexpr std::array<std::uint16_t, 32> kEvens = every_other(0), kOdds = every_other(1);

constexpr std::size_t padded(std::size_t columns) {
  return (columns + kLine - 1) / kLine * kLine;
}

/// Even columns, then odd ones, zero-padded to a multiple of 64.
void prepare(const Bf16* x, std::size_t columns, std::byte* prepared) {
  auto* even = reinterpret_cast<Bf16*>(prepared);
  Bf16* odd = even + padded(columns) / 2;
  const __m512i evens = _mm512_loadu_si512(kEvens.data()), odds = _mm512_loadu_si512(kOdds.data());
  for (std::size_t k = 0; k < columns; k += kLine) {
    const std::size_t left = std::min(columns - k, kLine);
    const std::uint64_t which = avx512::first_bytes(left);
    const __m512i low = _mm512_maskz_loadu_epi16(static_cast<__mmask32>(which), x + k);
    const __m512i high = _mm512_maskz_loadu_epi16(static_cast<__mmask32>(which >> 32), x + k + 32);
    _mm512_store_si512(even + k / 2, _mm512_permutex2var_epi16(low, evens, high));
    _mm512_store_si512(odd + k / 2, _mm512_permutex2var_epi16(low, odds, high));
  }
}

template <int kRows, PrefetchHint kAhead>
[[gnu::always_inline]] inline void dot(const std::byte* const* rows, std::size_t columns, const Bf16* even,
                                       const Lookup& upper, const Lookup& lower, std::size_t ahead,
                                       __m512* sums) {
  const Bf16* odd = even + padded(columns) / 2;
  constexpr __mmask64 kOdd = 0xaaaaaaaaaaaaaaaaULL;
  __m512 evens[kRows], odds[kRows];
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) evens[i] = odds[i] = _mm512_setzero_ps();
  const auto add = [&](int i, __m512i weights, std::size_t k) {
    const __mmask64 is_negative = _mm512_movepi8_mask(weights);
    const __m512i high = upper.of(weights, is_negative), low = lower.of(weights, is_negative);
    const __m512i first = _mm512_mask_mov_epi8(low, kOdd, _mm512_slli_epi16(high, 8));
    const __m512i second = _mm512_mask_mov_epi8(_mm512_srli_epi16(low, 8), kOdd, high);
    evens[i] = _mm512_dpbf16_ps(evens[i], reinterpret_cast<__m512bh>(first),
                                reinterpret_cast<__m512bh>(_mm512_load_si512(even + k / 2)));
    odds[i] = _mm512_dpbf16_ps(odds[i], reinterpret_cast<__m512bh>(second),
                               reinterpret_cast<__m512bh>(_mm512_load_si512(odd + k / 2)));
  };
  std::size_t k = 0;
  for (; k + kLine <= columns; k += kLine) {
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      prefetch<kAhead>(rows[i] + k + ahead);
      add(i, _mm512_loadu_si512(rows[i] + k), k);
    }
  }
  if (k < columns) {
    const __mmask64 which = avx512::first_bytes(columns - k);
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) add(i, _mm512_maskz_loadu_epi8(which, rows[i] + k), k);
  }
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) sums[i] = _mm512_add_ps(evens[i], odds[i]);
}

template <int kRows, PrefetchHint kAhead>
void multiply_as(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                 GemvWalk walk, float* y) {
  const Lookup upper(kTables.upper), lower(kTables.lower);
  const auto* x = reinterpret_cast<const Bf16*>(prepared);
  const RowGroups groups(rows, walk.apart);
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const FourRows four = groups.at(group);
    const std::byte* lines[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) lines[i] = weights + four.row[i] * columns;
    __m512 sums[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; i += kRows) {
      dot<kRows, kAhead>(lines + i, columns, x, upper, lower, walk.ahead, sums + i);
    }
    four.store(avx512::sums_of(sums[0], sums[1], sums[2], sums[3]), y);
  }
}

/// Walks of tuning.cpp; others take the nearest.
template <int kRows>
void multiply_rows(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) {
  if (walk.ahead == 0) {
    multiply_as<kRows, PrefetchHint::kNone>(weights, rows, columns, prepared, walk, y);
  } else if (kRows == 1 && walk.into == PrefetchLevel::kFirstCache) {
    multiply_as<1, PrefetchHint::kNontemporal>(weights, rows, columns, prepared, walk, y);
  } else if (walk.into == PrefetchLevel::kLargerCaches) {
    multiply_as<kRows, PrefetchHint::kLargerCaches>(weights, rows, columns, prepared, walk, y);
  } else {
    multiply_as<kRows, PrefetchHint::kAllCaches>(weights, rows, columns, prepared, walk, y);
  }
}

void multiply(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
              GemvWalk walk, float* y) {
  walk = effective_walk(walk);
  if (walk.rows >= 4) return multiply_rows<4>(weights, rows, columns, prepared, walk, y);
  multiply_rows<1>(weights, rows, columns, prepared, walk, y);
}

HEADROOM_END_TARGET

}  // namespace

GemvKernel gemv_avx512_table() {
  return {prepare, multiply, gemv_avx512_bf16().round, "avx512_vbmi + avx512_bf16", kFourStreams};
}

}  // namespace headroom::native
#endif
