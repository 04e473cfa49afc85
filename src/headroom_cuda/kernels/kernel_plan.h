// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::cuda {

/// When a launch starts: after the launch before it in the stream has ended, or as soon as its blocks fit
/// (programmatic dependent launch, compute capability 9.0 and later). An early kernel loads only memory that
/// no launch writes, such as weights, until the other has ended.
enum class Start { kBehindOther, kEarly };

/// Suffix of the names of variants that start early.
inline constexpr const char* kEarlySuffix = ", early";

// Problems of the gemv kernels. Pointers are to device memory, aligned to 16 bytes.

/// One matrix [rows, columns] of a stack, or two as one with twice the rows.
struct GemvMatrix {
  const std::byte* weights = nullptr;    ///< the stack, int8 or bf16
  const std::byte* end = nullptr;        ///< end of the readable memory
  const std::int64_t* chosen = nullptr;  ///< [2], indices in the stack; null: the first only
  std::uint32_t rows = 0, columns = 0;   ///< of each
  std::uint32_t outputs = 0;             ///< rows of all chosen matrices
};

/// y = W x, of bf16, summed in f32.
struct GemvProblem {
  GemvMatrix matrix;
  const std::uint16_t* x = nullptr;  ///< [columns] of bf16
  std::uint16_t* y = nullptr;        ///< [outputs] of bf16
};

/// Count, mean and sum of squared deviations of a part of a vector.
struct alignas(16) Moments {
  float count = 0, mean = 0, squares = 0;
};

/// A vector before its LayerNorm, as written by the blocks of one launch.
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

/// Added to the variance by the LayerNorms of the chain; the default of torch.nn.LayerNorm.
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
  std::uint32_t* finished = nullptr;  ///< number of finished blocks; 0 before and after the launch
  std::uint16_t* y = nullptr;         ///< [outputs] of bf16
};

/// Loads in flight of a thread of a gemv kernel: vectors of 16 bytes of each row, times rows.
struct GemvForm {
  int vectors = 1;
  int rows = 1;
};
/// The compiled forms; rows are powers of two.
inline constexpr std::array<GemvForm, 6> kGemvForms{{{1, 1}, {1, 2}, {1, 4}, {2, 2}, {2, 4}, {4, 2}}};
/// The only form for rows that are not aligned to 16 bytes.
inline constexpr GemvForm kUnalignedForm{1, 2};
/// The only form for the chain of linear layers.
inline constexpr GemvForm kLinearForm{4, 2};

/// Large blocks fill the device once and each works on its rows to the end. There are four times as many
/// small blocks as run at once: faster processors take more of them, but each starts with an empty pipeline.
enum class GemvBlocks : unsigned { kLarge = 512, kSmall = 256 };

/// How a gemv is launched.
struct GemvPlan {
  GemvForm form;
  GemvBlocks size = GemvBlocks::kLarge;
  Start start = Start::kBehindOther;
  unsigned team_threads = 0;  ///< threads that share a row: a power of two from 32 to threads()
  unsigned blocks = 0;
  bool aligned = true;  ///< every row is aligned to 16 bytes

  unsigned threads() const { return static_cast<unsigned>(size); }  ///< of a block
  std::string name() const;  ///< "4 rows, 2 vectors", then ", small blocks", ", early", or both
};

std::string name_of(GemvForm form);
std::vector<std::string> gemv_variants();

/// Plans `outputs` rows of `row_bytes` bytes each on a device of `processors` multiprocessors. `variant` is
/// one of gemv_variants(), or empty to choose by size. Throws Error for an unknown name.
GemvPlan gemv_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors, std::string_view variant);
/// Plans a layer of the chain.
GemvPlan linear_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors);

/// y = LayerNorm(x) over rows of x[rows, columns]. Pointers are to device memory, aligned to 16 bytes.
struct NormProblem {
  const std::uint16_t* x = nullptr;  ///< of bf16, as y
  const float* gamma = nullptr;      ///< [columns], as beta
  const float* beta = nullptr;
  std::uint16_t* y = nullptr;
  std::uint32_t rows = 0, columns = 0;
  float epsilon = 0;  ///< added to the variance
};

/// Vectors of 16 bytes of a row that a thread holds, and the block sizes that this leaves registers for.
struct NormForm {
  int vectors;
  unsigned threads;  ///< of a block, at most
  unsigned blocks;   ///< of that many threads resident on a multiprocessor
};
/// The compiled forms. The last has no registers left for unaligned rows.
inline constexpr std::array<NormForm, 3> kNormForms{{{1, 512, 2}, {2, 256, 3}, {4, 512, 1}}};
/// The form with `vectors` vectors.
constexpr NormForm norm_form(int vectors) {
  return vectors == 1 ? kNormForms[0] : vectors == 2 ? kNormForms[1] : kNormForms[2];
}
inline constexpr NormForm kLongNormForm{0, 512, 1};  ///< rows too long for registers

/// How a LayerNorm is launched.
struct NormPlan {
  NormForm form = kLongNormForm;
  Start start = Start::kBehindOther;
  unsigned threads = 0;  ///< of a block, which processes a row: a power of two, at least 32
  unsigned blocks = 0;
  bool aligned = true;  ///< every row is aligned to 16 bytes

  std::string name() const;  ///< "4 vectors", "4 vectors, early", "long rows"
};

std::vector<std::string> norm_variants();

/// Plans `rows` rows of `columns` bf16 values on a device of `processors` multiprocessors. `variant` is one
/// of norm_variants(), or empty to choose by size; if it cannot hold such rows, the plan has another name.
/// Throws Error for an unknown name.
NormPlan norm_plan(std::size_t rows, std::size_t columns, unsigned processors, std::string_view variant);

// Problems of the decoder kernels: one token through a transformer, launch by launch. Pointers are to device
// memory, aligned to 16 bytes.

/// Consecutive matrices [rows, columns]. A row is a multiple of 16 bytes; the number of rows is even.
struct StreamedMatrix {
  const std::byte* weights = nullptr;     ///< int8 or bf16
  const std::uint16_t* scales = nullptr;  ///< bf16, one for each row of each matrix; null: 1
  const std::int32_t* chosen = nullptr;   ///< [slots], indices of matrices; null: the first
  std::uint32_t rows = 0, columns = 0;    ///< of each
  std::uint32_t slots = 1;                ///< number of matrices to multiply with
};

/// The residual stream before its RMSNorm. The norm's factor is applied after the product, because it is the
/// same for all values.
struct NormedStream {
  const float* x = nullptr;               ///< [columns]
  const std::uint16_t* weight = nullptr;  ///< [columns] of bf16
  float epsilon = 0;
};

/// Query heads [head_dim] against keys and values of all positions up to the token's.
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

/// Routes a token to the experts with the highest W RMSNorm(x), weighted by the softmax over those.
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
  std::uint32_t* next = nullptr;      ///< number of positions in use
  std::uint32_t* position = nullptr;  ///< of the current token
  std::uint32_t* draws = nullptr;     ///< tokens drawn so far
  std::uint32_t capacity = 0;
};

/// Draws the next token by softmax(logits / temperature) over logits at least as large as the k-th.
struct SampleProblem {
  const float* logits = nullptr;  ///< [vocab]
  TokenSequence sequence;
  std::uint32_t vocab = 0, top_k = 1;
  float temperature = 1;
  std::uint64_t seed = 0;
};

constexpr unsigned kStreamedThreads = 512;  ///< of a block, at most
constexpr unsigned kStreamGroup = 8;        ///< rows that a warp has at a time
constexpr unsigned kStreamUnit = 128;       ///< bytes of each of them
/// Units in flight of a warp, 32 bytes for each lane: as many as fit newer devices, older devices, or so few
/// that the blocks of two launches fit a multiprocessor.
constexpr unsigned kDeepStream = 11, kMiddleStream = 8, kShallowStream = 5;
constexpr unsigned kStreamDepths[] = {kDeepStream, kMiddleStream, kShallowStream};

/// How rows are streamed. The fastest plan is found by timing.
struct StreamPlan {
  unsigned threads = 512;    ///< of a block
  unsigned blocks_each = 1;  ///< blocks of a multiprocessor
  unsigned teams = 1;        ///< of a block
  unsigned depth = kDeepStream;
  Start start = Start::kBehindOther;
  bool late = false;  ///< lets the next launch start once the last loads are in flight
  unsigned processors = 1;

  unsigned blocks() const { return processors * blocks_each; }
  unsigned warps_of_team() const { return threads / teams / 32; }
  /// Shared memory of a block when all blocks together stream `rows` rows of `columns` values.
  std::size_t shared_bytes(std::size_t rows, std::size_t columns) const;
  std::string name() const;  ///< "2 blocks of 256, 2 teams, 8 deep, early"
};

/// The plans worth timing on a device of `processors` multiprocessors. With `starts_early` each may set
/// `late`, too.
std::vector<StreamPlan> stream_plans(unsigned processors, bool starts_early);

}  // namespace headroom::cuda
