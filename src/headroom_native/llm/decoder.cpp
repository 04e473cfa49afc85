// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include "headroom/experiment/random.h"

namespace headroom::native {
namespace {

/// Unpacking weights costs about as many products.
constexpr std::size_t kMostFew = 8;
std::size_t few_of(LlmFormat format) {
  if (format == LlmFormat::kBf16) return 1;
  return format == LlmFormat::kInt8 ? kMostFew : 5;
}
bool are_few(LlmFormat format, std::size_t vectors) {
  return vectors <= few_of(format);
}
/// Stays in L2 while few vectors are multiplied.
constexpr std::size_t kBlockBytes = std::size_t{192} << 10;
constexpr std::size_t kRowsAtOnce = 4;

/// Columns per pass: the current rows (8 of 4 KiB) fit L1, all vectors (128 of 4 KiB) L2. A multiple of a
/// block.
constexpr std::size_t kColumnsOfMany = 2048;
constexpr std::size_t kManyVectors = 16;

std::size_t columns_at_once(std::size_t columns, std::size_t vectors) {
  return vectors < kManyVectors ? columns : std::min(columns, kColumnsOfMany);
}

/// More heads per read of a block gain nothing.
constexpr std::size_t kQueriesTogether = 8;
/// Up to this, each worker normalises all rows: cheaper than a barrier.
constexpr std::size_t kAlone = 2;

}  // namespace

MatrixProducts::MatrixProducts(Isa isa, std::size_t columns)
    : many_(gemm_kernel(isa)),
      unpack_super_(unpack_super_blocks(isa)),
      unpacked_(many_.rows * columns * sizeof(Bf16)) {
  for (std::size_t format = 0; format < kernels_.size(); ++format)
    kernels_[format] = gemv_kernel(name_of(static_cast<LlmFormat>(format)), isa);
  for (std::size_t i = 0; i < kMostFew; ++i) prepared_.emplace_back(prepared_bytes(columns));
}

void MatrixProducts::multiply(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products) {
  if (products.empty() || rows.size() == 0) return;
  if (are_few(matrix.format, products.size())) {
    multiply_few(matrix, rows, products);
  } else {
    multiply_many(matrix, rows, products);
  }
  if (matrix.scales == nullptr) return;
  for (const LlmProduct& product : products) {
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      product.sums[row] *= to_float(matrix.scales[row]);
  }
}

void MatrixProducts::multiply_few(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products) {
  const GemvKernel& one = kernel(matrix.format);
  for (std::size_t i = 0; i < products.size(); ++i)
    one.prepare(products[i].x, matrix.columns, prepared_[i].data());
  const std::size_t row_bytes = matrix.row_bytes();
  const std::size_t block = std::max<std::size_t>(1, kBlockBytes / row_bytes / kRowsAtOnce) * kRowsAtOnce;
  const std::size_t step = products.size() == 1 ? rows.size() : block;
  for (std::size_t row = rows.begin; row < rows.end; row += step) {
    const std::size_t count = std::min(step, rows.end - row);
    GemvWalk walk = one.far_walk;
    for (std::size_t i = 0; i < products.size(); ++i) {
      one.multiply(matrix.weights + row * row_bytes, count, matrix.columns, prepared_[i].data(), walk,
                   products[i].sums + row);
      walk = Residency::kNear;
    }
  }
}

void MatrixProducts::multiply_many(const LlmMatrix& matrix, Slice rows,
                                   std::span<const LlmProduct> products) {
  vectors_.resize(products.size());
  sums_.resize(products.size());
  const std::size_t step = columns_at_once(matrix.columns, products.size());
  for (std::size_t column = 0; column < matrix.columns; column += step) {
    const Slice columns{column, std::min(column + step, matrix.columns)};
    for (std::size_t i = 0; i < products.size(); ++i) vectors_[i] = products[i].x + column;
    for (std::size_t row = rows.begin; row < rows.end; row += many_.rows)
      multiply_rows(matrix, {row, std::min(row + many_.rows, rows.end)}, columns, products);
  }
}

void MatrixProducts::multiply_rows(const LlmMatrix& matrix, Slice rows, Slice columns,
                                   std::span<const LlmProduct> products) {
  const std::size_t stride = matrix.row_bytes(), ahead = many_.rows * stride;
  const std::size_t start = row_bytes(matrix.format, columns.begin);
  const bool is_plain = matrix.format == LlmFormat::kBf16;
  const Bf16* lines[kMaxGemmRows];
  for (std::size_t i = 0; i < many_.rows; ++i) {
    const std::size_t row = std::min(rows.begin + i, rows.end - 1);
    const std::byte* const from = matrix.weights + row * stride + start;
    Bf16* const to = unpacked_.as<Bf16>().data() + std::min(i, rows.size() - 1) * columns.size();
    if (!is_plain && i < rows.size()) {
      const auto unpack = block_columns(matrix.format) == 256 ? unpack_super_ : many_.unpack;
      unpack(matrix.dtype(), from, columns.size(), ahead, to);
    }
    lines[i] = is_plain ? reinterpret_cast<const Bf16*>(from) : to;
  }
  for (std::size_t i = 0; i < products.size(); ++i) sums_[i] = products[i].sums + rows.begin;
  many_.multiply(lines, rows.size(), columns.size(), vectors_.data(), products.size(), columns.begin > 0,
                 is_plain ? ahead : 0, sums_.data());
}

const char* dtype_of_products(LlmFormat format, std::size_t vectors, Isa isa) {
  return are_few(format, vectors) ? gemv_kernel(name_of(format), isa).products : "bf16";
}

TopKSampler::TopKSampler(std::size_t top_k, float temperature, std::uint64_t seed, Isa isa)
    : top_k_(top_k), temperature_(temperature), random_(seed), kernels_(token_kernels(isa)) {}

void TopKSampler::keep_largest() {
  if (kept_.size() <= top_k_) return;
  const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(top_k_ - 1);
  std::ranges::nth_element(kept_, last, std::ranges::greater(), &Candidate::logit);
  threshold_ = last->logit;
  std::erase_if(kept_, [this](const Candidate& one) { return one.logit < threshold_; });
}

std::span<const TopKSampler::Candidate> TopKSampler::candidates(std::span<const float> logits) {
  kept_.clear();
  threshold_ = -std::numeric_limits<float>::infinity();
  // Most logits cost one vector comparison.
  std::size_t limit = 4 * top_k_;
  for (std::size_t at = 0;; ++at) {
    at = kernels_.find_at_least(logits.data(), at, logits.size(), threshold_);
    if (at == logits.size()) break;
    kept_.push_back({logits[at], static_cast<std::uint32_t>(at)});
    if (kept_.size() < limit) continue;
    keep_largest();
    limit = 2 * kept_.size() + 2 * top_k_;  // ties may keep more than k
  }
  keep_largest();
  return kept_;
}

std::int32_t TopKSampler::draw(std::span<const float> logits) {
  if (candidates(logits).empty()) return 0;
  const Candidate most = *std::ranges::max_element(kept_, {}, &Candidate::logit);
  if (std::isinf(most.logit)) return static_cast<std::int32_t>(most.token);
  float sum = 0;
  for (Candidate& one : kept_) sum += one.logit = std::exp((one.logit - most.logit) / temperature_);
  float left = std::uniform_real_distribution<float>(0, sum)(random_);
  for (const Candidate& one : kept_) {
    left -= one.logit;
    if (left < 0) return static_cast<std::int32_t>(one.token);
  }
  return static_cast<std::int32_t>(most.token);  // rounding left a remainder
}

std::int32_t greedy_token(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

LlmDecoder::LlmDecoder(const LlmWeights& weights, ThreadPool& pool, Isa isa, std::size_t positions,
                       TopKSampler sampler, std::size_t sequences)
    : weights_(weights),
      config_(weights.config()),
      pool_(pool),
      kernel_format_(config_.formats_of(0).up),
      token_(token_kernels(isa)),
      sampler_(std::move(sampler)),
      rotary_(config_, positions),
      positions_(positions),
      sequences_(sequences) {
  const std::size_t rows = at_once();
  x_.resize(rows * config_.dim);
  normalised_.resize(rows * config_.dim);
  qkv_.resize(rows * config_.qkv_rows());
  attended_.resize(rows * config_.q_dim());
  sums_.resize(rows * config_.chosen * config_.dim);
  gate_.resize(rows * config_.chosen * config_.hidden);
  up_.resize(gate_.size());
  hidden_.resize(gate_.size());
  shares_.resize(rows * config_.chosen);
  shared_share_.resize(rows);
  shared_gate_.resize(rows * config_.shared_hidden);
  shared_up_.resize(shared_gate_.size());
  shared_in_.resize(shared_gate_.size());
  for (std::size_t layer = 0; layer < config_.layers; ++layer) {
    for (auto* caches : {&keys_, &values_})
      caches->emplace_back(sequences * positions * config_.kv_dim() * sizeof(Bf16));
  }
  for (int index = 0; index < pool.workers(); ++index) {
    Worker& worker = workers_.emplace_back(Worker{
        MatrixProducts(isa, std::max({config_.dim, config_.q_dim(), config_.hidden, config_.shared_hidden})),
        {},
        {},
        {},
        {}});
    worker.normalised.resize(kAlone * config_.dim);
    const std::size_t queries = rows_together() * (config_.heads / config_.kv_heads);
    const auto scratch = [&](std::size_t heads) {
      return attention_scratch(heads, config_.head_dim(), positions);
    };
    worker.scores.resize(std::max({scratch(1), scratch(queries), config_.experts}));
    worker.queries.reserve(queries);
    worker.list.reserve(rows * config_.chosen);
  }
  if (config_.is_gated()) routing_.reserve(positions * config_.layers * config_.chosen);
}

std::size_t LlmDecoder::at_once() const {
  return std::min(kLlmRowsAtOnce, sequences_ * positions_);
}

std::size_t LlmDecoder::rows_together() const {
  return std::max<std::size_t>(1, kQueriesTogether / (config_.heads / config_.kv_heads));
}

void LlmDecoder::rewind(std::size_t positions) {
  used_ = std::min(used_, positions);
  routing_.resize(std::min(routing_.size(), used_ * config_.layers * config_.chosen));
}

void LlmDecoder::fill_random_cache(std::size_t positions, std::uint64_t seed) {
  if (positions > positions_) throw std::length_error("more positions than allocated");
  // Variance 1: a uniform block of prime length, repeated from a random offset per head, so that positions
  // differ.
  constexpr std::size_t kValues = (std::size_t{1} << 16) - 15;
  std::vector<Bf16> block(kValues);
  for (std::size_t i = 0; i < kValues; ++i) {
    const auto bits = static_cast<float>(random_bits(seed, i) >> 40U);
    block[i] = to_bf16((bits * 0x1p-23F - 1) * std::sqrt(3.0F));
  }
  const std::size_t heads = sequences_ * config_.kv_heads, count = positions * config_.head_dim();
  pool_.run([&](int at, int workers) {
    const Slice slice = slice_of(heads, at, workers);
    for (std::size_t layer = 0; layer < 2 * config_.layers; ++layer) {
      Buffer& cache = layer % 2 == 0 ? keys_[layer / 2] : values_[layer / 2];
      for (std::size_t head = slice.begin; head < slice.end; ++head) {
        Bf16* const to = cache.as<Bf16>().data() + head * positions_ * config_.head_dim();
        std::size_t from = random_bits(seed + layer, head) % kValues;
        for (std::size_t done = 0; done < count; from = 0) {
          const std::size_t some = std::min(count - done, kValues - from);
          std::memcpy(to + done, block.data() + from, some * sizeof(Bf16));
          done += some;
        }
      }
    }
  });
  used_ = positions;
  routing_.assign(config_.is_gated() ? positions * config_.layers * config_.chosen : 0, 0);
}

std::span<const float> LlmDecoder::forward(std::span<const std::int32_t> tokens, LlmLogits wanted) {
  if (tokens.empty() || tokens.size() % sequences_ != 0 || tokens.size() / sequences_ > positions_ - used_) {
    throw std::length_error(fmt::format("cannot append {} tokens for {} sequences after position {} of {}",
                                        tokens.size(), sequences_, used_, positions_));
  }
  each_ = tokens.size() / sequences_;
  logits_.resize((wanted == LlmLogits::kAll ? tokens.size() : sequences_) * config_.vocab);
  if (config_.is_gated()) routing_.resize((used_ + each_) * config_.layers * config_.chosen);
  for (first_row_ = 0; first_row_ < tokens.size();) {
    const std::size_t rows = std::min(tokens.size() - first_row_, at_once());
    run_rows(tokens.subspan(first_row_, rows));
    collect_logits(rows, wanted);
    first_row_ += rows;
  }
  used_ += each_;
  return logits_;
}

void LlmDecoder::run_rows(std::span<const std::int32_t> tokens) {
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const Bf16* from = weights_.embedding(static_cast<std::size_t>(tokens[row]));
    std::transform(from, from + config_.dim, x_.begin() + static_cast<std::ptrdiff_t>(row * config_.dim),
                   to_float);
  }
  for (std::size_t layer = 0; layer < config_.layers; ++layer) run_layer(layer, tokens.size());
}

void LlmDecoder::run_layer(std::size_t index, std::size_t rows) {
  const LlmLayer& layer = weights_.layer(index);
  pool_.run([&](int at, int workers) {
    Worker& worker = workers_[static_cast<std::size_t>(at)];
    const Bf16* x = normalise(layer.attention_norm, rows, at, workers);
    std::size_t first = 0;
    for (const LlmMatrix* part : {&layer.qkv, &layer.keys, &layer.values}) {
      const Slice slice = slice_of(part->rows, at, workers);
      worker.list.clear();
      for (std::size_t row = 0; row < rows; ++row)
        worker.list.push_back({x + row * config_.dim, qkv_.data() + row * config_.qkv_rows() + first});
      worker.products.multiply(*part, slice, worker.list);
      for (std::size_t row = 0; layer.bias != nullptr && row < rows; ++row) {
        for (std::size_t i = slice.begin; i < slice.end; ++i)
          worker.list[row].sums[i] += layer.bias[first + i];
      }
      first += part->rows;
    }
  });
  pool_.run([&](int at, int workers) { attend_rows(index, rows, at, workers); });
  pool_.run([&](int at, int workers) { project_back(layer, rows, at, workers); });
  pool_.run([&](int at, int workers) { expand(layer, rows, at, workers); });
  if (config_.is_gated()) record_routing(index, rows);
  pool_.run([&](int at, int workers) { contract(layer, rows, at, workers); });
}

/// The barrier: rows need the keys of earlier rows of their sequence.
void LlmDecoder::attend_rows(std::size_t layer, std::size_t rows, int at, int workers) {
  Worker& worker = workers_[static_cast<std::size_t>(at)];
  const Slice slice = slice_of(rows * config_.kv_heads, at, workers);
  const bool meets = each_ > 1;
  for (std::size_t unit = slice.begin; unit < slice.end; ++unit) {
    keep(layer, unit % rows, unit / rows);
    if (!meets) attend(layer, {unit % rows, unit % rows + 1}, unit / rows, worker);
  }
  if (!meets) return;
  pool_.barrier();
  for (std::size_t unit = slice.begin; unit < slice.end;) {
    const std::size_t row = unit % rows, end = std::min(rows, row + slice.end - unit);
    std::size_t some = 1;
    while (some < rows_together() && row + some < end && sequence_of(row + some) == sequence_of(row)) ++some;
    attend(layer, {row, row + some}, unit / rows, worker);
    unit += some;
  }
}

void LlmDecoder::keep(std::size_t layer, std::size_t row, std::size_t kv_head) {
  const std::size_t width = config_.head_dim(), position = position_of(row);
  const std::size_t start = ((sequence_of(row) * config_.kv_heads + kv_head) * positions_ + position) * width;
  float* const key = qkv_.data() + row * config_.qkv_rows() + config_.q_dim() + kv_head * width;
  const std::size_t pair = position * rotary_.pairs;
  token_.rotate(key, rotary_.cosines.data() + pair, rotary_.sines.data() + pair, rotary_.pairs);
  token_.round(key, width, keys_[layer].as<Bf16>().data() + start);
  token_.round(key + config_.kv_dim(), width, values_[layer].as<Bf16>().data() + start);
}

void LlmDecoder::attend(std::size_t layer, Slice rows, std::size_t kv_head, Worker& worker) {
  const std::size_t width = config_.head_dim(), shared = config_.heads / config_.kv_heads;
  const std::size_t sequence = sequence_of(rows.begin);
  worker.queries.clear();
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    const std::size_t position = position_of(row), pair = position * rotary_.pairs;
    for (std::size_t head = kv_head * shared; head < (kv_head + 1) * shared; ++head) {
      float* const query = qkv_.data() + row * config_.qkv_rows() + head * width;
      token_.rotate(query, rotary_.cosines.data() + pair, rotary_.sines.data() + pair, rotary_.pairs);
      worker.queries.push_back(
          {query, position + 1, attended_.data() + row * config_.q_dim() + head * width});
    }
  }
  token_.attend(worker.queries, keys(layer, sequence, kv_head), values(layer, sequence, kv_head), width,
                worker.scores.data());
}

/// Adds to x each row's product, times `share_of(row)`.
template <typename ShareOf>
void LlmDecoder::add_product(const LlmMatrix& matrix, std::span<const Bf16> inputs, std::size_t size,
                             std::size_t rows, int at, int workers, ShareOf share_of) {
  Worker& worker = workers_[static_cast<std::size_t>(at)];
  const Slice slice = slice_of(config_.dim, at, workers);
  worker.list.clear();
  for (std::size_t row = 0; row < rows; ++row)
    worker.list.push_back({inputs.data() + row * size, sums_.data() + row * config_.dim});
  worker.products.multiply(matrix, slice, worker.list);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t start = row * config_.dim;
    const float share = share_of(row);
    for (std::size_t i = slice.begin; i < slice.end; ++i) x_[start + i] += share * sums_[start + i];
  }
}

void LlmDecoder::project_back(const LlmLayer& layer, std::size_t rows, int at, int workers) {
  add_product(layer.out, attended_, config_.q_dim(), rows, at, workers, [](std::size_t) { return 1.0F; });
}

void LlmDecoder::expand(const LlmLayer& layer, std::size_t rows, int at, int workers) {
  Worker& worker = workers_[static_cast<std::size_t>(at)];
  const Slice slice = slice_of(config_.hidden, at, workers);
  const Bf16* x = normalise(layer.ffn_norm, rows, at, workers);
  if (config_.is_gated()) {
    const Slice mine = slice_of(rows, at, workers);
    for (std::size_t row = mine.begin; row < mine.end; ++row)
      choose_experts(layer, row, x + row * config_.dim, worker);
    pool_.barrier();
  }
  for (std::size_t expert = 0; expert < config_.experts; ++expert) {
    const auto list = [&](std::vector<float>& sums) {
      return products_of(expert, rows, x, false, config_.dim, sums, config_.hidden, worker);
    };
    worker.products.multiply(layer.w1[expert], slice, list(gate_));
    worker.products.multiply(layer.w3[expert], slice, list(up_));
  }
  for (std::size_t share = 0; share < rows * config_.chosen; ++share) {
    const std::size_t from = share * config_.hidden + slice.begin;
    token_.swiglu(gate_.data() + from, up_.data() + from, slice.size(), hidden_.data() + from);
  }
  if (config_.shared_hidden > 0) expand_shared(layer, rows, x, at, workers);
}

void LlmDecoder::expand_shared(const LlmLayer& layer, std::size_t rows, const Bf16* x, int at, int workers) {
  Worker& worker = workers_[static_cast<std::size_t>(at)];
  const std::size_t size = config_.shared_hidden;
  const Slice slice = slice_of(size, at, workers);
  const auto multiply = [&](const LlmMatrix& matrix, std::vector<float>& sums) {
    worker.list.clear();
    for (std::size_t row = 0; row < rows; ++row)
      worker.list.push_back({x + row * config_.dim, sums.data() + row * size});
    worker.products.multiply(matrix, slice, worker.list);
  };
  multiply(layer.shared_w1, shared_gate_);
  multiply(layer.shared_w3, shared_up_);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t from = row * size + slice.begin;
    token_.swiglu(shared_gate_.data() + from, shared_up_.data() + from, slice.size(),
                  shared_in_.data() + from);
  }
}

void LlmDecoder::contract(const LlmLayer& layer, std::size_t rows, int at, int workers) {
  Worker& worker = workers_[static_cast<std::size_t>(at)];
  const Slice slice = slice_of(config_.dim, at, workers);
  for (std::size_t expert = 0; expert < config_.experts; ++expert) {
    worker.products.multiply(
        layer.w2[expert], slice,
        products_of(expert, rows, hidden_.data(), true, config_.hidden, sums_, config_.dim, worker));
  }
  for (std::size_t share = 0; share < rows * config_.chosen; ++share) {
    const float weight = shares_[share].weight;
    const float* const sums = sums_.data() + share * config_.dim;
    float* const x = x_.data() + share / config_.chosen * config_.dim;
    for (std::size_t i = slice.begin; i < slice.end; ++i) x[i] += weight * sums[i];
  }
  if (config_.shared_hidden == 0) return;
  add_product(layer.shared_w2, shared_in_, config_.shared_hidden, rows, at, workers,
              [&](std::size_t row) { return shared_share_[row]; });
}

void LlmDecoder::collect_logits(std::size_t rows, LlmLogits wanted) {
  const auto is_wanted = [&](std::size_t row) {
    return wanted == LlmLogits::kAll || (first_row_ + row + 1) % each_ == 0;
  };
  bool any = false;
  for (std::size_t row = 0; row < rows; ++row) any = any || is_wanted(row);
  if (!any) return;
  pool_.run([&](int at, int workers) {
    Worker& worker = workers_[static_cast<std::size_t>(at)];
    const Bf16* x = normalise(weights_.final_norm(), rows, at, workers);
    worker.list.clear();
    for (std::size_t row = 0; row < rows; ++row) {
      if (!is_wanted(row)) continue;
      const std::size_t place = wanted == LlmLogits::kAll ? first_row_ + row : sequence_of(row);
      worker.list.push_back({x + row * config_.dim, logits_.data() + place * config_.vocab});
    }
    worker.products.multiply(weights_.output(), slice_of(config_.vocab, at, workers), worker.list);
  });
}

/// Softmax over all experts, cut to the chosen ones and rescaled, equals softmax over those. Without
/// rescaling, divides by the sum over all.
void LlmDecoder::choose_experts(const LlmLayer& layer, std::size_t row, const Bf16* x, Worker& worker) {
  const LlmProduct product{x, worker.scores.data()};
  worker.products.multiply(layer.gate, {0, config_.experts}, std::span(&product, 1));
  Share* const shares = shares_.data() + row * config_.chosen;
  const auto end = worker.scores.begin() + static_cast<std::ptrdiff_t>(config_.experts);
  const float most = *std::max_element(worker.scores.begin(), end);
  float sum = 0;
  for (auto score = worker.scores.begin(); config_.has_shares_of_all && score != end; ++score)
    sum += std::exp(*score - most);
  for (std::size_t i = 0; i < config_.chosen; ++i) {
    const auto best = std::max_element(worker.scores.begin(), end);
    shares[i] = {static_cast<std::uint32_t>(best - worker.scores.begin()), std::exp(*best - most)};
    if (!config_.has_shares_of_all) sum += shares[i].weight;
    *best = -INFINITY;
  }
  for (std::size_t i = 0; i < config_.chosen; ++i) shares[i].weight /= sum;
  if (config_.shared_hidden == 0) return;
  float score = 0;
  const LlmProduct shared{x, &score};
  worker.products.multiply(layer.shared_gate, {0, 1}, std::span(&shared, 1));
  shared_share_[row] = 1 / (1 + std::exp(-score));
}

void LlmDecoder::record_routing(std::size_t index, std::size_t rows) {
  for (std::size_t share = 0; share < rows * config_.chosen; ++share) {
    const std::size_t row = share / config_.chosen;
    if (sequence_of(row) > 0) return;
    routing_[(position_of(row) * config_.layers + index) * config_.chosen + share % config_.chosen] =
        shares_[share].expert;
  }
}

const Bf16* LlmDecoder::normalise(const Bf16* weight, std::size_t rows, int at, int workers) {
  const bool alone = rows <= kAlone;
  Bf16* const to = alone ? workers_[static_cast<std::size_t>(at)].normalised.data() : normalised_.data();
  const Slice slice = alone ? Slice{0, rows} : slice_of(rows, at, workers);
  for (std::size_t row = slice.begin; row < slice.end; ++row) {
    token_.rms_norm(x_.data() + row * config_.dim, weight, config_.dim, config_.norm_epsilon,
                    to + row * config_.dim);
  }
  if (!alone) pool_.barrier();
  return to;
}

std::span<const LlmProduct> LlmDecoder::products_of(std::size_t expert, std::size_t rows, const Bf16* x,
                                                    bool of_shares, std::size_t columns,
                                                    std::vector<float>& sums, std::size_t size,
                                                    Worker& worker) const {
  worker.list.clear();
  for (std::size_t share = 0; share < rows * config_.chosen; ++share) {
    if (shares_[share].expert != expert) continue;
    const std::size_t from = of_shares ? share : share / config_.chosen;
    worker.list.push_back({x + from * columns, sums.data() + share * size});
  }
  return worker.list;
}

}  // namespace headroom::native
