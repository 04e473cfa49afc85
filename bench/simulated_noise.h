// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>

namespace headroom::bench {

/// Box and Muller: the same on every standard library.
class Noise {
 public:
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(bound));
  }

 private:
  std::mt19937_64 engine_{20240229};
};

}  // namespace headroom::bench
