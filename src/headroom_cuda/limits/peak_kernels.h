// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom::cuda {

/// Independent chains a = a x + y, kFmaChains per thread, starting at fma_start.
constexpr unsigned kFmaThreads = 256;
constexpr unsigned kFmaChains = 8;
constexpr unsigned kFmaRoundsAtOnce = 32;  ///< `rounds` is a multiple of this
constexpr float fma_start(unsigned lane, unsigned chain) {
  return 1.0F + 0.03125F * static_cast<float>(lane) + 0.5F * static_cast<float>(chain);
}
/// Sets out[thread] to the sum of the thread's chains, in order. T is float or double.
template <typename T>
void fma_chains(unsigned blocks, unsigned rounds, T x, T y, T* out, cudaStream_t stream);

/// Operand types; instructions take 32 bytes of each row and column at a time.
enum class MatrixType { kF64, kTf32, kF16, kBf16, kFp8, kInt8 };

/// mma.sync, compute capability 8.0 and later: in each round, each warp adds to tile u (16 x 8, kMmaTiles)
/// the product of matrix u % kMmaA of a (16 rows of 32 bytes) and matrix u % kMmaB of b (8 columns of 32
/// bytes).
constexpr unsigned kMmaThreads = 256;
constexpr unsigned kMmaTiles = 8, kMmaA = 2, kMmaB = 4;
constexpr unsigned kMmaRows = 16, kMmaColumns = 8, kRowBytes = 32;
/// tf32, f16, bf16, int8. `out` (4 bytes a value): tiles of the first warp of each block, row by row; may be
/// null.
void mma_tiles(MatrixType type, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
               std::uint32_t* out, cudaStream_t stream);

/// f64: tile u (16 x 8, kDmmaTiles): kDmmaSteps steps of a (16 rows of 32 bytes) times matrix u % kDmmaB of b
/// (kDmmaSteps steps of 8 columns of 32 bytes).
constexpr unsigned kDmmaTiles = 8, kDmmaB = 2, kDmmaSteps = 4;
/// `out` as in mma_tiles, with 8 bytes a value.
void dmma_tiles(MatrixType type, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
                std::uint32_t* out, cudaStream_t stream);

/// wgmma, compute capability 9.0 only: in each round, each group of 128 threads adds to a tile of 64 x 256
/// the product of kWgmmaSteps steps of a (64 rows of 32 bytes) and b (256 columns of 32 bytes).
constexpr unsigned kWgmmaThreads = 256;
constexpr unsigned kWgmmaRoundsAtOnce = 4;  ///< `rounds` is a multiple of this
constexpr unsigned kWgmmaGroups = kWgmmaThreads / 128;
constexpr unsigned kWgmmaSteps = 4, kWgmmaRows = 64, kWgmmaColumns = 256;
/// `out`: tile of the first group of each block, row by row; may be null.
void wgmma_tiles(MatrixType type, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
                 std::uint32_t* out, cudaStream_t stream);

/// "f64", "tf32", "f16", "bf16", "fp8" (e4m3), "int8"; otherwise throws std::logic_error.
MatrixType matrix_type(std::string_view dtype);

unsigned elements_per_row(MatrixType type);

/// Rows of 32 bytes: random int8, or multiples of 1/8 in (-2, 2), exact in all floating-point types. Zeros
/// would draw less power and clock higher.
struct MatrixOperand {
  std::vector<std::byte> bytes;
  std::vector<double> values;  ///< elements_per_row(type) per row
};
MatrixOperand matrix_operand(MatrixType type, std::size_t rows, std::uint64_t seed);

/// Row `row` of a times column `column` of b, over `elements` values.
double dot(const MatrixOperand& a, std::size_t row, const MatrixOperand& b, std::size_t column,
           unsigned elements);

}  // namespace headroom::cuda
