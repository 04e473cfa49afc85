// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

namespace headroom {

/// The floating-point format in which an implementation adds up the terms of a sum, the coarsest first.
enum class Precision { kBf16, kF16, kF32, kF64 };
inline constexpr std::array kPrecisions{Precision::kBf16, Precision::kF16, Precision::kF32, Precision::kF64};

/// "bf16", "f16", "f32", "f64".
const char* to_string(Precision precision);

/// Whether sums lose more in it than what experiments ask of an implementation, which is f32.
bool is_below_f32(Precision precision);

/// "sums in bf16, error 0.039 (bound 0.25)": of the largest error and what was allowed.
std::string sums_text(Precision precision, double error, double bound);

}  // namespace headroom
