// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/token_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "headroom/workload/team.h"
#include "headroom_native/kernels/code_generation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/llm/token_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per target
// Highway's own headers must follow foreach_target.h.
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#include "headroom_native/kernels/highway_vectors.h"

using Halves = hn::Rebind<std::uint16_t, F32>;

HWY_INLINE Vector load(const Bf16* from) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), hn::LoadU(Halves(), &from->bits))));
}

/// Rounds to nearest even; a NaN stays a NaN.
HWY_INLINE void store(Vector value, Bf16* to) {
  const Words tag;
  const hn::Rebind<std::int32_t, F32> integers;
  const auto bits = hn::BitCast(tag, value);
  const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(tag, 1U));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(last, hn::Set(tag, 0x7fffU))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(tag, 0x40U));
  const auto is_nan = hn::RebindMask(tag, hn::IsNaN(value));
  hn::StoreU(hn::DemoteTo(Halves(), hn::BitCast(integers, hn::IfThenElse(is_nan, quiet, rounded))), Halves(),
             &to->bits);
}

/// Extends Highway's Exp to NaN and infinite results.
HWY_INLINE Vector exp_of(Vector x) {
  const F32 tag;
  const Vector finite = hn::IfThenElse(hn::Gt(x, hn::Set(tag, 88.7F)), hn::Inf(tag), hn::Exp(tag, x));
  return hn::IfThenElse(hn::IsNaN(x), x, finite);
}

void rms_norm(const float* x, const Bf16* weight, std::size_t count, float epsilon, Bf16* y) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector s0 = hn::Zero(tag), s1 = s0;
  std::size_t k = 0;
  for (; k + 2 * lanes <= count; k += 2 * lanes) {
    const Vector a = hn::LoadU(tag, x + k), b = hn::LoadU(tag, x + k + lanes);
    s0 = hn::MulAdd(a, a, s0);
    s1 = hn::MulAdd(b, b, s1);
  }
  float squares = sum_of(hn::Add(s0, s1));
  for (; k < count; ++k) squares += x[k] * x[k];
  const float scale = 1.0F / std::sqrt(squares / static_cast<float>(count) + epsilon);
  const Vector scales = hn::Set(tag, scale);
  for (k = 0; k + lanes <= count; k += lanes)
    store(hn::Mul(hn::Mul(hn::LoadU(tag, x + k), scales), load(weight + k)), y + k);
  for (; k < count; ++k) y[k] = to_bf16(x[k] * scale * to_float(weight[k]));
}

void rotate(float* x, const float* cosines, const float* sines, std::size_t pairs) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t pair = 0;
  for (; pair + lanes <= pairs; pair += lanes) {
    Vector first, second;
    hn::LoadInterleaved2(tag, x + 2 * pair, first, second);
    const Vector cosine = hn::LoadU(tag, cosines + pair), sine = hn::LoadU(tag, sines + pair);
    const Vector turned = hn::NegMulAdd(second, sine, hn::Mul(first, cosine));
    hn::StoreInterleaved2(turned, hn::MulAdd(first, sine, hn::Mul(second, cosine)), tag, x + 2 * pair);
  }
  for (; pair < pairs; ++pair) {
    const float first = x[2 * pair], second = x[2 * pair + 1];
    x[2 * pair] = first * cosines[pair] - second * sines[pair];
    x[2 * pair + 1] = second * cosines[pair] + first * sines[pair];
  }
}

void swiglu(const float* gate, const float* up, std::size_t count, Bf16* y) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  const Vector one = hn::Set(tag, 1.0F);
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    const Vector g = hn::LoadU(tag, gate + k);
    const Vector silu = hn::Div(g, hn::Add(one, exp_of(hn::Neg(g))));
    store(hn::Mul(silu, hn::LoadU(tag, up + k)), y + k);
  }
  for (; k < count; ++k) y[k] = to_bf16(gate[k] / (1 + std::exp(-gate[k])) * up[k]);
}

void round(const float* from, std::size_t count, Bf16* to) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) store(hn::LoadU(tag, from + k), to + k);
  for (; k < count; ++k) to[k] = to_bf16(from[k]);
}

constexpr std::size_t kLine = 64 / sizeof(Bf16);

constexpr std::size_t kTileQueries = sizeof(Vector) >= 64 ? 4 : 2, kTileKeys = 4;

/// sums[a][b] += left(a) * right(b). A single `left` is bound by memory: each `right` is loaded where it is
/// used.
template <std::size_t kLeft, std::size_t kRight>
HWY_INLINE void multiply_tile(const auto& left, const auto& right, Vector (&sums)[kLeft][kRight]) {
  Vector rights[kRight];
  HEADROOM_UNROLL(8)
  for (std::size_t b = 0; kLeft > 1 && b < kRight; ++b) rights[b] = right(b);
  HEADROOM_UNROLL(4)
  for (std::size_t a = 0; a < kLeft; ++a) {
    const Vector one = left(a);
    HEADROOM_UNROLL(8)
    for (std::size_t b = 0; b < kRight; ++b)
      sums[a][b] = hn::MulAdd(one, kLeft > 1 ? rights[b] : right(b), sums[a][b]);
  }
}

/// Times `scale`. Together, as one by one they take as long as the products.
HWY_INLINE void store_sums(const Vector (&sums)[4], float scale, float* to) {
  const F32 tag;
  const hn::Repartition<double, F32> pairs;
  const auto halves = [&](Vector a, Vector b) HWY_ATTR {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b)));
  };
  const auto first = halves(sums[0], sums[1]), second = halves(sums[2], sums[3]);
  const Vector low = hn::BitCast(tag, hn::InterleaveLower(pairs, first, second));
  const Vector high = hn::BitCast(tag, hn::InterleaveUpper(pairs, first, second));
  alignas(64) float all[sizeof(Vector) / sizeof(float)];
  hn::StoreU(hn::Add(low, high), tag, all);
  // GCC turns loops over four floats into four loops.
  using Four [[gnu::vector_size(16)]] = float;
  Four four{};
  for (std::size_t block = 0; block < sizeof(Vector) / sizeof(float); block += 4) {
    Four part;
    std::memcpy(&part, all + block, sizeof part);
    four += part;
  }
  four *= scale;
  std::memcpy(to, &four, sizeof four);
}

/// Adds the columns beyond a multiple of a vector.
[[gnu::noinline]] void add_rest(const AttentionQuery& query, const Bf16* keys, std::size_t count,
                                std::size_t column, std::size_t width, float scale, float* scores) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = column; k < width; ++k)
      scores[i] += query.query[k] * to_float(keys[i * width + k]) * scale;
  }
}

/// Written out: for a single head GCC's order of the general form costs a tenth.
HWY_INLINE void score_alone(const float* query, const Bf16* keys, std::size_t width, float scale,
                            float* scores) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0;
  for (std::size_t k = 0; k + lanes <= width; k += lanes) {
    const Vector part = hn::LoadU(tag, query + k);
    s0 = hn::MulAdd(part, load(keys + k), s0);
    s1 = hn::MulAdd(part, load(keys + width + k), s1);
    s2 = hn::MulAdd(part, load(keys + 2 * width + k), s2);
    s3 = hn::MulAdd(part, load(keys + 3 * width + k), s3);
  }
  const float sums[4] = {sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3)};
  for (std::size_t i = 0; i < 4; ++i) scores[i] = sums[i] * scale;
}

/// Each load serves all of the other side.
template <std::size_t kQueries, std::size_t kKeys>
HWY_INLINE void score(const AttentionQuery* queries, const Bf16* keys, std::size_t width, float scale,
                      float* scores) {
  const F32 tag;
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);
  Vector sums[kQueries][kKeys];
  HEADROOM_UNROLL(4)
  for (std::size_t q = 0; q < kQueries; ++q) {
    HEADROOM_UNROLL(4)
    for (std::size_t i = 0; i < kKeys; ++i) sums[q][i] = hn::Zero(tag);
  }
  std::size_t k = 0;
  for (; k + kLanes <= width; k += kLanes) {
    multiply_tile<kQueries, kKeys>([&](std::size_t q)
                                       HWY_ATTR { return hn::LoadU(tag, queries[q].query + k); },
                                   [&](std::size_t i) HWY_ATTR { return load(keys + i * width + k); }, sums);
  }
  for (std::size_t q = 0; q < kQueries; ++q) {
    float* const to = scores + q * kAttentionBlock;
    if constexpr (kKeys == 4) {
      store_sums(sums[q], scale, to);
    } else {
      for (std::size_t i = 0; i < kKeys; ++i) to[i] = sum_of(sums[q][i]) * scale;
    }
    if (k < width) add_rest(queries[q], keys, kKeys, k, width, scale, to);
  }
}

template <std::size_t kQueries>
HWY_INLINE void score_block(const AttentionQuery* queries, const Bf16* keys, std::size_t count,
                            std::size_t width, std::size_t ahead, float* scores) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(width));
  std::size_t i = 0;
  for (; i + kTileKeys <= count; i += kTileKeys) {
    for (std::size_t line = 0; kQueries > 1 && ahead > 0 && line < kTileKeys * width; line += kLine)
      prefetch<PrefetchHint::kLargerCaches>(keys + i * width + ahead + line);
    if constexpr (kQueries == 1) {
      score_alone(queries[0].query, keys + i * width, width, scale, scores + i);
      const std::size_t rest = width % hn::Lanes(F32());
      if (rest > 0) add_rest(queries[0], keys + i * width, kTileKeys, width - rest, width, scale, scores + i);
    } else {
      score<kQueries, kTileKeys>(queries, keys + i * width, width, scale, scores + i);
    }
  }
  for (; i < count; ++i) score<kQueries, 1>(queries, keys + i * width, width, scale, scores + i);
}

HWY_INLINE float largest(const float* scores, std::size_t count, float most) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t k = 0;
  if (count >= lanes) {
    Vector mosts = hn::LoadU(tag, scores);
    for (k = lanes; k + lanes <= count; k += lanes) {
      const Vector some = hn::LoadU(tag, scores + k);
      mosts = hn::IfThenElse(hn::Gt(some, mosts), some, mosts);
    }
    float all[64];
    hn::StoreU(mosts, tag, all);
    for (std::size_t lane = 0; lane < lanes; ++lane) most = all[lane] > most ? all[lane] : most;
  }
  for (; k < count; ++k) most = scores[k] > most ? scores[k] : most;
  return most;
}

HWY_INLINE float exponentials_of(float* scores, std::size_t count, float most) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  const Vector mosts = hn::Set(tag, most);
  Vector sums = hn::Zero(tag);
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    const Vector value = exp_of(hn::Sub(hn::LoadU(tag, scores + k), mosts));
    sums = hn::Add(sums, value);
    hn::StoreU(value, tag, scores + k);
  }
  float sum = sum_of(sums);
  for (; k < count; ++k) sum += scores[k] = std::exp(scores[k] - most);
  return sum;
}

/// sums[q][column] += sum over positions of shares times values, in kVectors vectors of columns.
template <std::size_t kQueries, std::size_t kVectors>
HWY_INLINE void weigh(const float* shares, const Bf16* values, std::size_t positions, std::size_t width,
                      std::size_t ahead, float* sums) {
  const F32 tag;
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);
  Vector all[kQueries][kVectors];
  HEADROOM_UNROLL(4)
  for (std::size_t q = 0; q < kQueries; ++q) {
    HEADROOM_UNROLL(8)
    for (std::size_t i = 0; i < kVectors; ++i) all[q][i] = hn::LoadU(tag, sums + q * width + i * kLanes);
  }
  for (std::size_t position = 0; position < positions; ++position) {
    const Bf16* const row = values + position * width;
    for (std::size_t line = 0; kQueries > 1 && ahead > 0 && line < kVectors * kLanes; line += kLine)
      prefetch<PrefetchHint::kLargerCaches>(row + ahead + line);
    multiply_tile<kQueries, kVectors>(
        [&](std::size_t q) HWY_ATTR { return hn::Set(tag, shares[q * kAttentionBlock + position]); },
        [&](std::size_t i) HWY_ATTR { return load(row + i * kLanes); }, all);
  }
  HEADROOM_UNROLL(4)
  for (std::size_t q = 0; q < kQueries; ++q) {
    HEADROOM_UNROLL(8)
    for (std::size_t i = 0; i < kVectors; ++i) hn::StoreU(all[q][i], tag, sums + q * width + i * kLanes);
  }
}

template <std::size_t kQueries>
HWY_INLINE void weigh_block(const float* shares, const Bf16* values, std::size_t positions, std::size_t width,
                            std::size_t ahead, float* sums) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t column = 0;
  // Whole rows of one query: a stream that the hardware prefetcher follows.
  for (; kQueries == 1 && column + 8 * lanes <= width; column += 8 * lanes)
    weigh<1, 8>(shares, values + column, positions, width, ahead, sums + column);
  for (; column + 4 * lanes <= width; column += 4 * lanes)
    weigh<kQueries, 4>(shares, values + column, positions, width, ahead, sums + column);
  for (; column + lanes <= width; column += lanes)
    weigh<kQueries, 1>(shares, values + column, positions, width, ahead, sums + column);
  for (; column < width; ++column) {
    for (std::size_t q = 0; q < kQueries; ++q) {
      for (std::size_t position = 0; position < positions; ++position)
        sums[q * width + column] +=
            shares[q * kAttentionBlock + position] * to_float(values[position * width + column]);
    }
  }
}

/// Relative to the largest score so far. Source: Milakov, Gimelshein, "Online normalizer calculation for
/// softmax", 2018.
struct Attention {
  float *scores, *sums, *most, *total;  // [queries, block], [queries, width], [queries] twice

  Attention(std::size_t queries, std::size_t width, std::size_t block, float* scratch)
      : scores(scratch), sums(scores + queries * block), most(sums + queries * width), total(most + queries) {
    std::fill(sums, most, 0.0F);
    std::fill(most, total, -std::numeric_limits<float>::max());
    std::fill(total, total + queries, 0.0F);
  }

  float* scores_of(std::size_t q) const { return scores + q * kAttentionBlock; }

  /// Rescales the sums to the new largest score.
  HWY_INLINE void share(std::size_t q, std::size_t count, std::size_t width) {
    const float now = largest(scores_of(q), count, most[q]);
    if (now != most[q]) {
      const float factor = std::exp(most[q] - now);
      for (std::size_t i = 0; i < width; ++i) sums[q * width + i] *= factor;
      total[q] *= factor;
      most[q] = now;
    }
    total[q] += exponentials_of(scores_of(q), count, now);
  }
};

HWY_INLINE std::size_t seen(const AttentionQuery& query, Slice block) {
  return std::clamp(query.positions, block.begin, block.end) - block.begin;
}

/// Skips unseen values: a share of 0 would turn infinities into NaN.
template <std::size_t kQueries>
HWY_INLINE void weigh_seen(const AttentionQuery* queries, Slice block, const Bf16* values, std::size_t width,
                           std::size_t ahead, const float* shares, float* sums) {
  std::size_t least = block.size();
  for (std::size_t q = 0; q < kQueries; ++q) least = std::min(least, seen(queries[q], block));
  weigh_block<kQueries>(shares, values, least, width, ahead, sums);
  for (std::size_t q = 0; q < kQueries; ++q) {
    if (const std::size_t count = seen(queries[q], block); count > least)
      weigh_block<1>(shares + q * kAttentionBlock + least, values + least * width, count - least, width, 0,
                     sums + q * width);
  }
}

template <std::size_t kQueries>
HWY_INLINE void weigh_all(std::span<const AttentionQuery> queries, Slice block, const Bf16* values,
                          std::size_t width, std::size_t ahead, const Attention& all, std::size_t& q) {
  for (; q + kQueries <= queries.size(); q += kQueries)
    weigh_seen<kQueries>(&queries[q], block, values, width, q == 0 ? ahead : 0, all.scores_of(q),
                         all.sums + q * width);
}

template <std::size_t kQueries>
HWY_INLINE void score_all(std::span<const AttentionQuery> queries, const Bf16* keys, std::size_t count,
                          std::size_t width, std::size_t ahead, const Attention& all, std::size_t& q) {
  for (; q + kQueries <= queries.size(); q += kQueries)
    score_block<kQueries>(&queries[q], keys, count, width, q == 0 ? ahead : 0, all.scores_of(q));
}

void attend(std::span<const AttentionQuery> queries, const Bf16* keys, const Bf16* values, std::size_t width,
            float* scratch) {
  std::size_t longest = 0;
  for (const AttentionQuery& query : queries) longest = std::max(longest, query.positions);
  // One query reads two long streams, which hardware prefetches better.
  const bool is_alone = queries.size() == 1;
  const std::size_t step = is_alone ? longest : kAttentionBlock, ahead = is_alone ? 0 : step * width;
  Attention all(queries.size(), width, step, scratch);
  for (std::size_t first = 0; first < longest; first += step) {
    const Slice block{first, std::min(longest, first + step)};
    const Bf16 *const key = keys + first * width, *const value = values + first * width;
    std::size_t q = 0;
    score_all<kTileQueries>(queries, key, block.size(), width, ahead, all, q);
    score_all<2>(queries, key, block.size(), width, ahead, all, q);
    score_all<1>(queries, key, block.size(), width, ahead, all, q);
    for (q = 0; q < queries.size(); ++q) all.share(q, seen(queries[q], block), width);
    q = 0;
    weigh_all<kTileQueries>(queries, block, value, width, ahead, all, q);
    weigh_all<2>(queries, block, value, width, ahead, all, q);
    weigh_all<1>(queries, block, value, width, ahead, all, q);
  }
  for (std::size_t q = 0; q < queries.size(); ++q) {
    float* const sums = all.sums + q * width;
    for (std::size_t i = 0; i < width; ++i) sums[i] *= 1.0F / all.total[q];
    round(sums, width, queries[q].y);
  }
}

std::size_t find_at_least(const float* x, std::size_t from, std::size_t count, float threshold) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  const Vector thresholds = hn::Set(tag, threshold);
  std::size_t k = from;
  for (; k + lanes <= count; k += lanes) {
    const std::intptr_t found = hn::FindFirstTrue(tag, hn::Ge(hn::LoadU(tag, x + k), thresholds));
    if (found >= 0) return k + static_cast<std::size_t>(found);
  }
  while (k < count && !(x[k] >= threshold)) ++k;
  return k;
}

}  // namespace headroom::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headroom::native {
TokenKernels token_kernels(Isa isa) {
  return {HEADROOM_HIGHWAY_FUNCTION(rms_norm, isa), HEADROOM_HIGHWAY_FUNCTION(rotate, isa),
          HEADROOM_HIGHWAY_FUNCTION(swiglu, isa),   HEADROOM_HIGHWAY_FUNCTION(round, isa),
          HEADROOM_HIGHWAY_FUNCTION(attend, isa),   HEADROOM_HIGHWAY_FUNCTION(find_at_least, isa)};
}

}  // namespace headroom::native
#endif
