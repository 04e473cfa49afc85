// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "headroom/experiment/bf16.h"

namespace headroom {

/// Well mixed; depends only on `seed` and `index`.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index);

/// Values depend only on `seed` and the index; uses all CPUs. Floats: nearly normal, mean 0, standard
/// deviation 1 (sum of four uniforms). int8: uniform in [-127, 127]. Values repeat after 4194301, a prime:
/// most inputs are copied instead of computed, and no two rows of a matrix are equal.
void fill_random(std::span<float> values, std::uint64_t seed);
void fill_random(std::span<double> values, std::uint64_t seed);
void fill_random(std::span<Bf16> values, std::uint64_t seed);
void fill_random(std::span<std::int8_t> values, std::uint64_t seed);

}  // namespace headroom
