// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What a gemv kernel is asked to do. Pointers are to memory of the device, from multiples of 16 bytes on.
namespace headroom::cuda {

/// One matrix or two of a stack of them, [rows, columns] each, as one with twice the rows.
struct GemvMatrix {
  const std::byte* weights = nullptr;    ///< the stack, int8 or bf16
  const std::byte* end = nullptr;        ///< of the memory that may be read there
  const std::int64_t* chosen = nullptr;  ///< [2], which matrices; null: only the first
  std::uint32_t rows = 0, columns = 0;   ///< of each
  std::uint32_t outputs = 0;             ///< rows of all that are chosen
};

/// y = W x, of bf16, summed in f32.
struct GemvProblem {
  GemvMatrix matrix;
  const std::uint16_t* x = nullptr;  ///< [columns] of bf16
  std::uint16_t* y = nullptr;        ///< [outputs] of bf16
};

/// Count, mean, and sum of squared differences from it, of some of the values of a vector.
struct alignas(16) Moments {
  float count = 0, mean = 0, squares = 0;
};

/// A vector before its LayerNorm, as the blocks of one launch leave it.
struct UnnormedVector {
  float* values = nullptr;     ///< [n]
  Moments* moments = nullptr;  ///< [blocks of that launch]
  std::uint32_t blocks = 0;
};

/// W x + bias and the moments of it.
struct LinearProblem {
  GemvMatrix matrix;
  const std::uint16_t* x = nullptr;     ///< [columns] of bf16
  const std::uint16_t* bias = nullptr;  ///< [outputs] of bf16
  UnnormedVector result;
};

/// What the LayerNorms of the chain add to the variance: what torch.nn.LayerNorm does.
inline constexpr float kLinearNormEpsilon = 1e-5F;

struct NormParameters {
  const std::uint16_t* gamma = nullptr;  ///< of bf16, as beta
  const std::uint16_t* beta = nullptr;
};

/// y = LayerNorm(W LayerNorm(x) + bias).
struct NormedLinearProblem {
  GemvMatrix matrix;
  UnnormedVector x;      ///< [columns]
  NormParameters inner;  ///< of x
  const std::uint16_t* bias = nullptr;
  UnnormedVector result;
  NormParameters outer;               ///< of the result
  std::uint32_t* finished = nullptr;  ///< how many blocks are; 0 before and after the launch
  std::uint16_t* y = nullptr;         ///< [outputs] of bf16
};

}  // namespace headroom::cuda
