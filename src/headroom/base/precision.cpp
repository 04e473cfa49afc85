// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/precision.h"

#include <fmt/format.h>

namespace headroom {

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return "bf16";
    case Precision::kF16:
      return "f16";
    case Precision::kF32:
      return "f32";
    case Precision::kF64:
      return "f64";
  }
  return "f32";
}

bool is_below_f32(Precision precision) {
  return precision < Precision::kF32;
}

std::string sums_text(Precision precision, double error, double bound) {
  return fmt::format("sums in {}, error {:.2g} (bound {:.2g})", to_string(precision), error, bound);
}

}  // namespace headroom
