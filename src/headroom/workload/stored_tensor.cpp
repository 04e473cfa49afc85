// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/stored_tensor.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "headroom/base/text.h"
#include "headroom/experiment/bf16.h"

namespace headroom {
namespace {

constexpr std::size_t kBlock = 32, kSuper = 256;

struct TypeLine {
  StoredType type;
  const char* name;
  std::size_t size, bytes;
};
constexpr std::array<TypeLine, 8> kTypes{{{StoredType::kF32, "F32", 1, 4},
                                          {StoredType::kF16, "F16", 1, 2},
                                          {StoredType::kBf16, "BF16", 1, 2},
                                          {StoredType::kQ8Block, "Q8_0", kBlock, 34},
                                          {StoredType::kQ4Block, "Q4_0", kBlock, 18},
                                          {StoredType::kQ4Super, "Q4_K", kSuper, 144},
                                          {StoredType::kQ5Super, "Q5_K", kSuper, 176},
                                          {StoredType::kQ6Super, "Q6_K", kSuper, 210}}};

const TypeLine& line_of(StoredType type) {
  return kTypes.at(static_cast<std::size_t>(type));
}

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
float half_at(const std::byte* from) {
  return float_of_half(load<std::uint16_t>(from));
}
unsigned byte_at(const std::byte* from, std::size_t index) {
  return std::to_integer<unsigned>(from[index]);
}

void read_q8(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (std::size_t i = 0; i < kBlock; ++i)
    values[i] = scale * static_cast<float>(load<std::int8_t>(block + 2 + i));
}

/// The low halves of the bytes are the first sixteen, the high ones the others.
void read_q4(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    const unsigned two = byte_at(block, 2 + i);
    values[i] = scale * (static_cast<float>(two & 15U) - 8);
    values[i + kBlock / 2] = scale * (static_cast<float>(two >> 4U) - 8);
  }
}

/// Scale and minimum number `index` of eight, 6 bits each in 12 bytes (get_scale_min_k4 of ggml-quants.c).
std::array<unsigned, 2> scale_and_minimum(const std::byte* packed, std::size_t index) {
  if (index < 4) return {byte_at(packed, index) & 63U, byte_at(packed, index + 4) & 63U};
  const unsigned low = byte_at(packed, index + 4);
  return {(low & 15U) | (byte_at(packed, index - 4) >> 6U << 4U),
          (low >> 4U) | (byte_at(packed, index) >> 6U << 4U)};
}

/// Eight parts of 32, each with a scale and a minimum; behind them, of Q5_K, 32 bytes that have the fifth
/// bits of all parts, then the halves (dequantize_row_q4_K, dequantize_row_q5_K).
template <bool kHasFifths>
void read_super(const std::byte* block, float* values) {
  const float scale = half_at(block), least = half_at(block + 2);
  const std::byte *fifths = block + 16, *bits = block + (kHasFifths ? 48 : 16);
  for (std::size_t part = 0; part < 8; ++part) {
    const auto [factor, minimum] = scale_and_minimum(block + 4, part);
    const float d = scale * static_cast<float>(factor), m = least * static_cast<float>(minimum);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const unsigned two = byte_at(bits, part / 2 * kBlock + i);
      const unsigned four = part % 2 == 0 ? two & 15U : two >> 4U;
      const unsigned fifth = kHasFifths ? (byte_at(fifths, i) >> part) & 1U : 0;
      values[part * kBlock + i] = d * static_cast<float>(four | fifth << 4U) - m;
    }
  }
}

/// 128 low halves, 64 pairs of high bits, 16 scales, one scale of all (dequantize_row_q6_K).
void read_q6_super(const std::byte* block, float* values) {
  const float scale = half_at(block + 208);
  for (std::size_t half = 0; half < 2; ++half) {
    const std::byte *low = block + 64 * half, *high = block + 128 + 32 * half,
                    *scales = block + 192 + 8 * half;
    for (std::size_t i = 0; i < 128; ++i) {
      const std::size_t quarter = i / 32, at = i % 32;
      const unsigned two = byte_at(low, at + quarter % 2 * 32);
      const unsigned four = quarter < 2 ? two & 15U : two >> 4U;
      const unsigned upper = (byte_at(high, at) >> (2 * quarter)) & 3U;
      const auto q = static_cast<int>(four | (upper << 4U)) - 32;
      const auto factor = static_cast<float>(load<std::int8_t>(scales + at / 16 + 2 * quarter));
      values[128 * half + i] = scale * factor * static_cast<float>(q);
    }
  }
}

}  // namespace

const char* name_of(StoredType type) {
  return line_of(type).name;
}
std::size_t block_size(StoredType type) {
  return line_of(type).size;
}
std::size_t block_bytes(StoredType type) {
  return line_of(type).bytes;
}

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U, exponent = (bits >> 10U) & 31U, rest = bits & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (rest << 13U));
  if (exponent > 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23U) | (rest << 13U));
  const float small = static_cast<float>(rest) * 0x1p-24F;
  return sign == 0 ? small : -small;
}

void dequantise(StoredType type, const std::byte* blocks, std::span<float> values) {
  const std::size_t size = block_size(type), bytes = block_bytes(type);
  for (std::size_t at = 0; at + size <= values.size(); at += size, blocks += bytes) {
    float* const to = values.data() + at;
    switch (type) {
      case StoredType::kF32:
        *to = load<float>(blocks);
        break;
      case StoredType::kF16:
        *to = half_at(blocks);
        break;
      case StoredType::kBf16:
        *to = to_float(load<Bf16>(blocks));
        break;
      case StoredType::kQ8Block:
        read_q8(blocks, to);
        break;
      case StoredType::kQ4Block:
        read_q4(blocks, to);
        break;
      case StoredType::kQ4Super:
        read_super<false>(blocks, to);
        break;
      case StoredType::kQ5Super:
        read_super<true>(blocks, to);
        break;
      case StoredType::kQ6Super:
        read_q6_super(blocks, to);
        break;
    }
  }
}

std::string StoredTensor::describe() const {
  return fmt::format("{} [{}] at byte {}", in_quotes(name), fmt::join(shape, ","), offset);
}

std::optional<std::size_t> stored_bytes(StoredType type, std::span<const std::size_t> shape) {
  constexpr std::size_t kMost = std::size_t{1} << 62;
  if (!shape.empty() && shape.back() % block_size(type) != 0) return std::nullopt;
  std::size_t count = 1;
  for (const std::size_t size : shape) {
    if (size == 0) return std::nullopt;
    if (count > kMost / size) return std::nullopt;
    count *= size;
  }
  if (shape.empty() && block_size(type) > 1) return std::nullopt;
  const std::size_t blocks = count / block_size(type);
  if (blocks > kMost / block_bytes(type)) return std::nullopt;
  return blocks * block_bytes(type);
}

const StoredTensor* StoredModel::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

}  // namespace headroom
