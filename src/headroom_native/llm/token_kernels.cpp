// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/token_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "headroom_native/kernels/unroll.h"

#include "headroom_native/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/llm/token_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
// Highway wants its own headers after foreach_target.h.
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#include "headroom_native/kernels/highway_vectors.h"

using Halves = hn::Rebind<std::uint16_t, F32>;

/// A bf16 is the upper half of a float.
HWY_INLINE Vector load(const Bf16* from) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), hn::LoadU(Halves(), &from->bits))));
}

/// Rounds to nearest even; a NaN stays one.
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

/// Highway's exp takes a NaN for very small, and knows nothing above the largest float's logarithm.
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

HWY_INLINE float dot(const float* query, const Bf16* key, std::size_t width) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector s0 = hn::Zero(tag), s1 = s0;
  std::size_t k = 0;
  for (; k + 2 * lanes <= width; k += 2 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(tag, query + k), load(key + k), s0);
    s1 = hn::MulAdd(hn::LoadU(tag, query + k + lanes), load(key + k + lanes), s1);
  }
  float sum = sum_of(hn::Add(s0, s1));
  for (; k < width; ++k) sum += query[k] * to_float(key[k]);
  return sum;
}

/// The same of four keys, one behind the other: each load of the query serves all of them.
HWY_INLINE void dot4(const float* query, const Bf16* keys, std::size_t width, float scale, float* scores) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0;
  std::size_t k = 0;
  for (; k + lanes <= width; k += lanes) {
    const Vector part = hn::LoadU(tag, query + k);
    s0 = hn::MulAdd(part, load(keys + k), s0);
    s1 = hn::MulAdd(part, load(keys + width + k), s1);
    s2 = hn::MulAdd(part, load(keys + 2 * width + k), s2);
    s3 = hn::MulAdd(part, load(keys + 3 * width + k), s3);
  }
  float sums[4] = {sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3)};
  for (; k < width; ++k) {
    for (std::size_t i = 0; i < 4; ++i) sums[i] += query[k] * to_float(keys[i * width + k]);
  }
  for (std::size_t i = 0; i < 4; ++i) scores[i] = sums[i] * scale;
}

HWY_INLINE float largest(const float* scores, std::size_t count) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  float most = scores[0];
  std::size_t k = 0;
  if (count >= lanes) {
    Vector mosts = hn::LoadU(tag, scores);
    for (k = lanes; k + lanes <= count; k += lanes) {
      const Vector some = hn::LoadU(tag, scores + k);
      mosts = hn::IfThenElse(hn::Gt(some, mosts), some, mosts);
    }
    float all[64];
    hn::StoreU(mosts, tag, all);
    most = *std::max_element(all, all + lanes);
  }
  for (; k < count; ++k) most = std::max(most, scores[k]);
  return most;
}

/// scores = exp(scores - their largest), whose sum is what comes back.
HWY_INLINE float exponentials_of(float* scores, std::size_t count) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  const float most = largest(scores, count);
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

/// y[column] = factor times the sum over positions of shares times values, for as many columns as kVectors
/// vectors hold.
template <int kVectors>
HWY_INLINE void weigh(const float* shares, float factor, const Bf16* values, std::size_t positions,
                      std::size_t width, Bf16* y) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector sums[kVectors];
  HEADROOM_UNROLL(8)
  for (int i = 0; i < kVectors; ++i) sums[i] = hn::Zero(tag);
  for (std::size_t position = 0; position < positions; ++position) {
    const Vector share = hn::Set(tag, shares[position]);
    const Bf16* row = values + position * width;
    HEADROOM_UNROLL(8)
    for (int i = 0; i < kVectors; ++i)
      sums[i] = hn::MulAdd(share, load(row + static_cast<std::size_t>(i) * lanes), sums[i]);
  }
  HEADROOM_UNROLL(8)
  for (int i = 0; i < kVectors; ++i)
    store(hn::Mul(sums[i], hn::Set(tag, factor)), y + static_cast<std::size_t>(i) * lanes);
}

void attend(const float* query, const Bf16* keys, const Bf16* values, std::size_t positions,
            std::size_t width, float* scores, Bf16* y) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(width));
  std::size_t position = 0;
  for (; position + 4 <= positions; position += 4)
    dot4(query, keys + position * width, width, scale, scores + position);
  for (; position < positions; ++position)
    scores[position] = dot(query, keys + position * width, width) * scale;
  const float factor = 1.0F / exponentials_of(scores, positions);
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t column = 0;
  for (; column + 8 * lanes <= width; column += 8 * lanes)
    weigh<8>(scores, factor, values + column, positions, width, y + column);
  for (; column + 4 * lanes <= width; column += 4 * lanes)
    weigh<4>(scores, factor, values + column, positions, width, y + column);
  for (; column + lanes <= width; column += lanes)
    weigh<1>(scores, factor, values + column, positions, width, y + column);
  for (; column < width; ++column) {
    float sum = 0;
    for (position = 0; position < positions; ++position)
      sum += scores[position] * to_float(values[position * width + column]);
    y[column] = to_bf16(sum * factor);
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
