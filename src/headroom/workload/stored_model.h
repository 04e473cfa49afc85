// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace headroom {

/// Pages are read on first touch.
class MappedFile {
 public:
  /// Throws Error for a path that is missing, not a file, empty, or not readable.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Blocks are ggml's (ggml-common.h).
enum class StoredType {
  kF32,
  kF16,
  kBf16,
  kQ8Block,  ///< Q8_0: 32 int8, a binary16 scale
  kQ4Block,  ///< Q4_0: 32 of 4 bits (8 is zero), a binary16 scale
  kQ4Least,  ///< Q4_1: 32 of 4 bits, binary16 scale and minimum
  kQ5Block,  ///< Q5_0: 32 of 5 bits (16 is zero), a binary16 scale
  kQ5Least,  ///< Q5_1: 32 of 5 bits, binary16 scale and minimum
  kQ4Super,  ///< Q4_K: 256 of 4 bits, eight scales and minima of 6 bits
  kQ5Super,  ///< Q5_K: the same with 5 bits
  kQ6Super   ///< Q6_K: 256 of 6 bits, sixteen scales of 8 bits
};

const char* name_of(StoredType type);
/// Numbers per block and bytes per block; 1 number without blocks.
std::size_t block_size(StoredType type);
std::size_t block_bytes(StoredType type);

/// IEEE 754 binary16; exact.
float float_of_half(std::uint16_t bits);

/// Bit-identical to ggml's f32. values.size() is a multiple of block_size(type).
void dequantise(StoredType type, const std::byte* blocks, std::span<float> values);

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<std::size_t> shape;  ///< rows before columns; columns are contiguous
  std::size_t offset = 0;          ///< of its first byte in the file
  std::span<const std::byte> bytes;

  /// "'blk.0.attn_q.weight' [64,64] of Q8_0 at byte 1024".
  std::string describe() const;
};

/// Nullopt if a row is not whole blocks, a size is 0, or the result is above 2^62.
std::optional<std::size_t> stored_bytes(StoredType type, std::span<const std::size_t> shape);

/// Only the length is kept.
struct ModelArray {
  std::uint64_t count = 0;
};
using ModelValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, ModelArray>;

/// `bytes` point into the mapped files.
struct StoredModel {
  std::map<std::string, ModelValue> metadata;
  std::map<std::string, StoredTensor> tensors;

  const StoredTensor* find(const std::string& name) const;
};

/// Parses a whole GGUF file (version 2 or 3, little-endian), with only the lengths of arrays. `source` is for
/// errors. Throws Error with byte and tensor name: not GGUF, another version, truncated, impossible size,
/// unsupported type, duplicate name. Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
StoredModel parse_gguf(std::span<const std::byte> bytes, const std::string& source);

bool is_gguf(std::span<const std::byte> bytes);

/// Parses a whole safetensors file of F32, F16 or BF16. `source` is for errors. Throws Error with tensor name
/// and byte: truncated, header not JSON or above 100 MB, shape and bytes that do not match, bytes out of
/// range, unsupported type. Source: https://huggingface.co/docs/safetensors (format)
StoredModel parse_safetensors(std::span<const std::byte> bytes, const std::string& source);

}  // namespace headroom
