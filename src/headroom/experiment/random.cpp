// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/random.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <type_traits>
#include <vector>

namespace headroom {
namespace {

/// Sum of four 16-bit uniforms, scaled to variance 1 (each has variance (2^32 - 1) / 12).
float nearly_normal(std::uint64_t bits) {
  constexpr float kScale = 2.6429e-5F;  // sqrt(12 / 4) / 2^16
  const auto sum = static_cast<std::int32_t>((bits & 0xffffU) + ((bits >> 16) & 0xffffU) +
                                             ((bits >> 32) & 0xffffU) + (bits >> 48));
  return static_cast<float>(sum - 2 * 65535) * kScale;
}

template <typename T>
T value_of(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return to_bf16(nearly_normal(bits));
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    return static_cast<std::int8_t>(static_cast<std::int32_t>(((bits >> 32) * 255U) >> 32) - 127);
  } else {
    return static_cast<T>(nearly_normal(bits));
  }
}

/// 2^22 - 3, a prime.
constexpr std::size_t kPeriod = 4194301;

/// Calls body(begin, end) for parts of [0, count), on several threads if `count` is large.
template <typename Body>
void parallel_parts(std::size_t count, const Body& body) {
  constexpr std::size_t kMinThreadWork = std::size_t{1} << 20;
  const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(count / kMinThreadWork, 1, cpus);
  std::vector<std::jthread> helpers;
  for (std::size_t part = 1; part < parts; ++part) {
    helpers.emplace_back([=, &body] { body(count * part / parts, count * (part + 1) / parts); });
  }
  body(0, count / parts);
}

template <typename T>
void fill(std::span<T> values, std::uint64_t seed) {
  const std::span<T> period = values.first(std::min(values.size(), kPeriod));
  parallel_parts(period.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) period[i] = value_of<T>(random_bits(seed, i));
  });
  const std::span<T> rest = values.subspan(period.size());
  parallel_parts(rest.size(), [&](std::size_t begin, std::size_t end) {
    while (begin < end) {
      const std::size_t from = begin % kPeriod;
      const std::size_t length = std::min(kPeriod - from, end - begin);
      std::copy_n(period.begin() + from, length, rest.begin() + begin);
      begin += length;
    }
  });
}

}  // namespace

/// SplitMix64 finaliser: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = seed * 0xd1342543de82ef95U + (index + 1) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

void fill_random(std::span<float> values, std::uint64_t seed) {
  fill(values, seed);
}
void fill_random(std::span<double> values, std::uint64_t seed) {
  fill(values, seed);
}
void fill_random(std::span<Bf16> values, std::uint64_t seed) {
  fill(values, seed);
}
void fill_random(std::span<std::int8_t> values, std::uint64_t seed) {
  fill(values, seed);
}

}  // namespace headroom
