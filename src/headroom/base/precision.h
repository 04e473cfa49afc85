// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

namespace headroom {

/// Accumulation dtype, coarsest first.
enum class Precision { kBf16, kF16, kF32, kF64 };
inline constexpr std::array kPrecisions{Precision::kBf16, Precision::kF16, Precision::kF32, Precision::kF64};

const char* to_string(Precision precision);

/// Experiments require at least f32.
bool is_below_f32(Precision precision);

/// Returns "sums in bf16, error 0.039 (bound 0.25)".
std::string sums_text(Precision precision, double error, double bound);

}  // namespace headroom
