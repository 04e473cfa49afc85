// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/precision.h"

#include <fmt/format.h>

namespace headroom {

const char* to_string(Precision precision) {
  static constexpr const char* kNames[] = {"bf16", "f16", "f32", "f64"};
  return kNames[static_cast<std::size_t>(precision)];
}

bool is_below_f32(Precision precision) {
  return precision < Precision::kF32;
}

std::string sums_text(Precision precision, double error, double bound) {
  return fmt::format("sums in {}, error {:.2g} (bound {:.2g})", to_string(precision), error, bound);
}

}  // namespace headroom
