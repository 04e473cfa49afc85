// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What the kernels of a decoder are asked to do: one token through a transformer, launch by launch. Pointers
/// are to memory of the device, from multiples of 16 bytes on.
namespace headroom::cuda {

/// Matrices [rows, columns] one behind the other. Rows are multiples of 16 bytes, and even in number.
struct StreamedMatrix {
  const std::byte* weights = nullptr;     ///< int8 or bf16
  const std::uint16_t* scales = nullptr;  ///< bf16, one for each row of each matrix; null: 1
  const std::int32_t* chosen = nullptr;   ///< [slots], which matrices; null: the first
  std::uint32_t rows = 0, columns = 0;    ///< of each
  std::uint32_t slots = 1;                ///< matrices that are multiplied, one behind the other
};

/// The residual stream before its RMSNorm. The factor of the norm comes behind the product, as it is the same
/// for all of it.
struct NormedStream {
  const float* x = nullptr;               ///< [columns]
  const std::uint16_t* weight = nullptr;  ///< [columns] of bf16
  float epsilon = 0;
};

/// One head of queries each [head_dim], against keys and values of all positions up to that of the token.
struct AttentionProblem {
  const float* qkv = nullptr;  ///< queries, keys and values of the token, not yet rotated
  const float* cosines = nullptr;
  const float* sines = nullptr;             ///< as cosines [positions, head_dim / 2]
  std::uint16_t* keys = nullptr;            ///< [kv_heads, positions, head_dim] of bf16, rotated
  std::uint16_t* values = nullptr;          ///< the same
  const std::uint32_t* position = nullptr;  ///< of the token
  float* parts = nullptr;                   ///< [heads, splits, head_dim + 2]
  std::uint32_t* finished = nullptr;        ///< [heads]; 0 before and after the launch
  std::uint16_t* y = nullptr;               ///< [heads, head_dim] of bf16
  std::uint32_t heads = 0, kv_heads = 0, positions = 0, splits = 1;
};

constexpr unsigned kMostExperts = 64;

/// Which experts a token goes to: the highest of W RMSNorm(x), with the softmax over those.
struct RouteProblem {
  const std::uint16_t* gate = nullptr;  ///< [experts, columns] of bf16
  NormedStream x;
  const std::uint32_t* position = nullptr;
  std::int32_t* chosen = nullptr;    ///< [chosen experts]
  float* shares = nullptr;           ///< [chosen experts]
  std::uint32_t* routing = nullptr;  ///< [positions, layers, chosen experts]
  std::uint32_t experts = 0;         ///< up to kMostExperts
  std::uint32_t columns = 0, count = 0, layer = 0, layers = 0;
};

/// The sequence on the device.
struct TokenSequence {
  std::int32_t* tokens = nullptr;     ///< [capacity]
  std::uint32_t* next = nullptr;      ///< how many positions are in use
  std::uint32_t* position = nullptr;  ///< of the token under way
  std::uint32_t* draws = nullptr;     ///< tokens drawn so far
  std::uint32_t capacity = 0;
};

/// The next token by softmax(logits / temperature) over those that are at least as large as the k-th.
struct SampleProblem {
  const float* logits = nullptr;  ///< [vocab]
  TokenSequence sequence;
  std::uint32_t vocab = 0, top_k = 1;
  float temperature = 1;
  std::uint64_t seed = 0;
};

}  // namespace headroom::cuda
