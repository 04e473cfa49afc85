// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "headroom_native/isa.h"

/// The version for `isa` of a function that HWY_EXPORT exported, without Highway's process-wide choice: one
/// process may use several, as the tests do. Usable after HWY_EXPORT, in the same file.
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define HEADROOM_HIGHWAY_FUNCTION(function, isa) (&HWY_STATIC_DISPATCH(function))
#else
#define HEADROOM_HIGHWAY_FUNCTION(function, isa) \
  (HWY_DISPATCH_TABLE(function)[::headroom::native::highway_index(isa)])
#endif

namespace headroom::native {

/// Highway targets up to `isa` that this CPU supports. Better targets have lower bits.
inline std::int64_t highway_targets([[maybe_unused]] Isa isa) {
  const std::int64_t supported = hwy::SupportedTargets();
#if HWY_ARCH_X86
  if (isa == Isa::kBaseline) return HWY_STATIC_TARGET;
  if (isa == Isa::kAvx2) return supported & ~(std::int64_t{HWY_AVX2} - 1);
  return supported & ~(std::int64_t{HWY_AVX3} - 1);
#else
  return supported;
#endif
}

/// Where a table of HWY_EXPORT holds the version for `isa`.
inline std::size_t highway_index(Isa isa) {
  hwy::ChosenTarget chosen;
  chosen.Update(highway_targets(isa));
  return chosen.GetIndex();
}

}  // namespace headroom::native
