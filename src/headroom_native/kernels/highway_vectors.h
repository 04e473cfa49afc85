// SPDX-License-Identifier: Apache-2.0
// Included within the namespace of each Highway target, after highway_dispatch.h: hence no guard.

#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET)
namespace hn = hwy::HWY_NAMESPACE;
#else
namespace hn = compiler_vectors;
#endif

using F32 = hn::ScalableTag<float>;
using Words = hn::Repartition<unsigned, F32>;  // 32 bits; no includes within a namespace
using Vector = hn::Vec<F32>;

/// A word has two bf16, the even column below. A bf16 is the upper half of a float.
HWY_INLINE Vector even_columns(hn::Vec<Words> words) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(words));
}
HWY_INLINE Vector odd_columns(hn::Vec<Words> words) {
  return hn::BitCast(F32(), hn::And(words, hn::Set(Words(), 0xffff0000U)));
}
/// Loads 16-bit values: bf16 data may not be aligned to words.
HWY_INLINE hn::Vec<Words> load_words(const Bf16* from) {
  const hn::Repartition<unsigned short, Words> halves;
  return hn::BitCast(Words(), hn::LoadU(halves, reinterpret_cast<const unsigned short*>(from)));
}
/// Rounds finite values to nearest even.
HWY_INLINE void store_rounded(Vector value, Bf16* to) {
  const Words tag;
  const hn::Rebind<unsigned short, F32> halves;
  const auto bits = hn::BitCast(tag, value);
  const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(tag, 1U));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(last, hn::Set(tag, 0x7fffU))));
  hn::StoreU(hn::DemoteTo(halves, hn::BitCast(hn::Rebind<int, F32>(), rounded)), halves, &to->bits);
}
HWY_INLINE float sum_of(Vector vector) {
  return hn::GetLane(hn::SumOfLanes(F32(), vector));
}
