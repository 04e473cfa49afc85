// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headroom {

/// How numbers lie in a file of a model. Blocks are those of ggml (ggml-common.h).
enum class StoredType {
  kF32,
  kF16,
  kBf16,
  kQ8Block,  ///< Q8_0: 32 of int8, one scale of binary16
  kQ4Block,  ///< Q4_0: 32 of 4 bits (8 is zero), one scale of binary16
  kQ4Super,  ///< Q4_K: 256 of 4 bits, eight scales and minima of 6 bits
  kQ5Super,  ///< Q5_K: the same with 5 bits
  kQ6Super   ///< Q6_K: 256 of 6 bits, sixteen scales of 8 bits
};

/// "F32", "Q8_0", "Q4_K".
const char* name_of(StoredType type);
/// Numbers of a block, and the bytes that it takes; 1 where each number stands by itself.
std::size_t block_size(StoredType type);
std::size_t block_bytes(StoredType type);

/// IEEE 754 binary16 as a float, exactly.
float float_of_half(std::uint16_t bits);

/// values = the numbers of as many blocks, exactly as ggml has them in f32. values.size() is a multiple of
/// block_size(type).
void dequantise(StoredType type, const std::byte* blocks, std::span<float> values);

/// A tensor in a file that is mapped.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<std::size_t> shape;  ///< rows before columns; columns are what lies together
  std::size_t offset = 0;          ///< of its first byte, in its file
  std::span<const std::byte> bytes;

  /// "'blk.0.attn_q.weight' [64,64] at byte 1024": for sentences about it.
  std::string describe() const;
};

/// Bytes that `shape` takes as `type`; nothing where that is no whole number of blocks a row, or more than
/// 2^62.
std::optional<std::size_t> stored_bytes(StoredType type, std::span<const std::size_t> shape);

/// What a file says of its model: a number, a word, or how many elements an array has.
struct ModelArray {
  std::uint64_t count = 0;
};
using ModelValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, ModelArray>;

/// What is in a file, or in several that belong together. Bytes are those of the mapped files.
struct StoredModel {
  std::map<std::string, ModelValue> metadata;
  std::map<std::string, StoredTensor> tensors;

  const StoredTensor* find(const std::string& name) const;
};

}  // namespace headroom
