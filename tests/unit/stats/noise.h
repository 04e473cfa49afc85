// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace headroom::test {

/// Box and Muller: the same on every standard library.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

  /// AR(1) with standard deviation 1.
  std::vector<double> series(std::size_t count, double rho = 0) {
    std::vector<double> values(count);
    double z = normal();
    for (double& value : values) {
      value = z;
      z = rho * z + std::sqrt(1 - rho * rho) * normal();
    }
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace headroom::test
