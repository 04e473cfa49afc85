// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::cuda {

/// After the previous launch of the stream, or once its blocks fit (programmatic dependent launch, compute
/// capability 9.0 and later). An early kernel loads only unwritten memory until the previous one has ended.
enum class Start { kAfterPrevious, kEarly };

inline constexpr const char* kEarlySuffix = ", early";

// Problems of the gemv kernels: device pointers, aligned to 16 bytes.

/// A matrix [rows, columns] of a stack, or two as one of twice the rows.
struct GemvMatrix {
  const std::byte* weights = nullptr;    ///< the stack, int8 or bf16
  const std::byte* end = nullptr;        ///< end of the readable memory
  const std::int64_t* chosen = nullptr;  ///< [2], indices in the stack; null: the first only
  std::uint32_t rows = 0, columns = 0;   ///< per matrix
  std::uint32_t outputs = 0;             ///< rows of all chosen matrices
};

struct GemvProblem {
  GemvMatrix matrix;
  const std::uint16_t* x = nullptr;  ///< [columns] of bf16
  std::uint16_t* y = nullptr;        ///< [outputs] of bf16
};

/// Moments of a part of a vector; `squares` are about the mean.
struct alignas(16) Moments {
  float count = 0, mean = 0, squares = 0;
};

/// Written by the blocks of one launch.
struct UnnormedVector {
  float* values = nullptr;     ///< [n]
  Moments* moments = nullptr;  ///< [blocks of that launch]
  std::uint32_t blocks = 0;
};

/// W x + bias, and its moments.
struct LinearProblem {
  GemvMatrix matrix;
  const std::uint16_t* x = nullptr;     ///< [columns] of bf16
  const std::uint16_t* bias = nullptr;  ///< [outputs] of bf16
  UnnormedVector result;
};

/// Default of torch.nn.LayerNorm.
inline constexpr float kLinearNormEpsilon = 1e-5F;

struct NormParameters {
  const std::uint16_t* gamma = nullptr;  ///< bf16, like beta
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
  std::uint32_t* finished = nullptr;  ///< finished blocks; 0 before and after the launch
  std::uint16_t* y = nullptr;         ///< [outputs] of bf16
};

/// In flight per thread: vectors of 16 bytes a row, times rows.
struct GemvForm {
  int vectors = 1;
  int rows = 1;
};
/// Rows are powers of two.
inline constexpr std::array<GemvForm, 6> kGemvForms{{{1, 1}, {1, 2}, {1, 4}, {2, 2}, {2, 4}, {4, 2}}};
/// For rows not aligned to 16 bytes.
inline constexpr GemvForm kUnalignedForm{1, 2};
/// For the chain of linear layers.
inline constexpr GemvForm kLinearForm{4, 2};

/// Large blocks fill the device once. Small ones, four times as many as run at once, balance better but start
/// with empty pipelines.
enum class GemvBlocks : unsigned { kLarge = 512, kSmall = 256 };

struct GemvPlan {
  GemvForm form;
  GemvBlocks size = GemvBlocks::kLarge;
  Start start = Start::kAfterPrevious;
  unsigned team_threads = 0;  ///< threads that share a row: a power of two from 32 to threads()
  unsigned blocks = 0;
  bool aligned = true;  ///< every row is aligned to 16 bytes

  unsigned threads() const { return static_cast<unsigned>(size); }  ///< per block
  std::string name() const;  ///< "4 rows, 2 vectors", then ", small blocks", ", early", or both
};

std::string name_of(GemvForm form);
std::vector<std::string> gemv_variants();

/// Plans `outputs` rows of `row_bytes` on `processors` multiprocessors. An empty `variant` chooses by size.
/// Throws Error for an unknown name.
GemvPlan gemv_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors, std::string_view variant);
GemvPlan linear_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors);

/// y = LayerNorm(x) over rows of x[rows, columns]. Device pointers, aligned to 16 bytes.
struct NormProblem {
  const std::uint16_t* x = nullptr;  ///< bf16, like y
  const float* gamma = nullptr;      ///< [columns], like beta
  const float* beta = nullptr;
  std::uint16_t* y = nullptr;
  std::uint32_t rows = 0, columns = 0;
  float epsilon = 0;  ///< added to the variance
};

/// Vectors of a row per thread, and the block sizes that registers allow.
struct NormForm {
  int vectors;
  unsigned threads;  ///< per block, at most
  unsigned blocks;   ///< resident blocks of that size per multiprocessor
};
/// The last has no registers left for unaligned rows.
inline constexpr std::array<NormForm, 3> kNormForms{{{1, 512, 2}, {2, 256, 3}, {4, 512, 1}}};
constexpr NormForm norm_form(int vectors) {
  return vectors == 1 ? kNormForms[0] : vectors == 2 ? kNormForms[1] : kNormForms[2];
}
inline constexpr NormForm kLongNormForm{0, 512, 1};  ///< rows too long for registers

struct NormPlan {
  NormForm form = kLongNormForm;
  Start start = Start::kAfterPrevious;
  unsigned threads = 0;  ///< per block, one block a row: a power of two, at least 32
  unsigned blocks = 0;
  bool aligned = true;  ///< every row is aligned to 16 bytes

  std::string name() const;  ///< "4 vectors", "4 vectors, early", "long rows"
};

std::vector<std::string> norm_variants();

/// Plans rows of bf16 on `processors` multiprocessors. An empty `variant` chooses by size; one that cannot
/// hold such rows gives a plan of another name. Throws Error for an unknown name.
NormPlan norm_plan(std::size_t rows, std::size_t columns, unsigned processors, std::string_view variant);

// Problems of the decoder kernels: device pointers, aligned to 16 bytes.

/// Consecutive matrices [rows, columns]; a row is a multiple of 16 bytes, the number of rows even.
struct StreamedMatrix {
  const std::byte* weights = nullptr;     ///< int8 or bf16
  const std::uint16_t* scales = nullptr;  ///< bf16, one for each row of each matrix; null: 1
  const std::int32_t* chosen = nullptr;   ///< [slots], indices of matrices; null: the first
  std::uint32_t rows = 0, columns = 0;    ///< per matrix
  std::uint32_t slots = 1;                ///< matrices to multiply with
};

/// Before its RMSNorm, whose factor is applied after the product.
struct NormedStream {
  const float* x = nullptr;               ///< [columns]
  const std::uint16_t* weight = nullptr;  ///< [columns] of bf16
  float epsilon = 0;
};

/// Attention of one token over all positions up to its own.
struct AttentionProblem {
  const float* qkv = nullptr;  ///< queries, keys and values of the token, not yet rotated
  const float* cosines = nullptr;
  const float* sines = nullptr;             ///< [positions, head_dim / 2], like cosines
  std::uint16_t* keys = nullptr;            ///< [kv_heads, positions, head_dim] of bf16, rotated
  std::uint16_t* values = nullptr;          ///< the same
  const std::uint32_t* position = nullptr;  ///< of the token
  float* parts = nullptr;                   ///< [heads, splits, head_dim + 2]
  std::uint32_t* finished = nullptr;        ///< [heads]; 0 before and after the launch
  std::uint16_t* y = nullptr;               ///< [heads, head_dim] of bf16
  std::uint32_t heads = 0, kv_heads = 0, positions = 0, splits = 1;
};

constexpr unsigned kMaxExperts = 64;

/// Routes a token to the experts with the highest W RMSNorm(x); shares are the softmax over those.
struct RouteProblem {
  const std::uint16_t* gate = nullptr;  ///< [experts, columns] of bf16
  NormedStream x;
  const std::uint32_t* position = nullptr;
  std::int32_t* chosen = nullptr;    ///< [chosen experts]
  float* shares = nullptr;           ///< [chosen experts]
  std::uint32_t* routing = nullptr;  ///< [positions, layers, chosen experts]
  std::uint32_t experts = 0;         ///< up to kMaxExperts
  std::uint32_t columns = 0, count = 0, layer = 0, layers = 0;
};

struct TokenSequence {
  std::int32_t* tokens = nullptr;     ///< [capacity]
  std::uint32_t* next = nullptr;      ///< number of positions in use
  std::uint32_t* position = nullptr;  ///< of the current token
  std::uint32_t* draws = nullptr;     ///< tokens drawn so far
  std::uint32_t capacity = 0;
};

/// Draws from softmax(logits / temperature) over the top_k largest logits and ties.
struct SampleProblem {
  const float* logits = nullptr;  ///< [vocab]
  TokenSequence sequence;
  std::uint32_t vocab = 0, top_k = 1;
  float temperature = 1;
  std::uint64_t seed = 0;
};

constexpr unsigned kStreamedThreads = 512;  ///< per block, at most
constexpr unsigned kStreamGroup = 8;        ///< rows that a warp streams together
constexpr unsigned kStreamUnit = 128;       ///< bytes of each row at a time
/// Units in flight of a warp, 32 bytes a lane: for newer devices, older ones, and so few that blocks of two
/// launches share a multiprocessor.
constexpr unsigned kDeepStream = 11, kMiddleStream = 8, kShallowStream = 5;
constexpr unsigned kStreamDepths[] = {kDeepStream, kMiddleStream, kShallowStream};

/// Chosen by timing.
struct StreamPlan {
  unsigned threads = 512;    ///< per block
  unsigned blocks_each = 1;  ///< blocks per multiprocessor
  unsigned teams = 1;        ///< per block
  unsigned depth = kDeepStream;
  Start start = Start::kAfterPrevious;
  bool late = false;  ///< the next launch starts once the last loads are in flight
  unsigned processors = 1;

  unsigned blocks() const { return processors * blocks_each; }
  unsigned warps_of_team() const { return threads / teams / 32; }
  /// Bytes per block if all blocks stream `rows` rows of `columns` values.
  std::size_t shared_bytes(std::size_t rows, std::size_t columns) const;
  std::string name() const;  ///< "2 blocks of 256, 2 teams, 8 deep, early"
};

/// Plans worth timing. `starts_early`: each may also set `late`.
std::vector<StreamPlan> stream_plans(unsigned processors, bool starts_early);

}  // namespace headroom::cuda
