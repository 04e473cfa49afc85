// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_model.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <numbers>
#include <stdexcept>

#include "headroom/experiment/random.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/stored_model.h"

namespace headroom {
namespace {

void require(bool sound, const std::string& what) {
  if (!sound) throw std::invalid_argument(what);
}

double turns_of(const LlmConfig& config, std::size_t pair, double positions) {
  const double exponent = -2 * static_cast<double>(pair) / static_cast<double>(config.head_dim());
  return positions * std::pow(config.rope_base, exponent) / (2 * std::numbers::pi);
}

/// The share `kept` of the frequency stays; the rest is divided by `factor`.
double divisor(double kept, double factor) {
  return 1 / (kept + (1 - kept) / factor);
}

double llama3_kept(double turns, const RotaryScaling& scaling) {
  return std::clamp((turns - scaling.low_factor) / (scaling.high_factor - scaling.low_factor), 0.0, 1.0);
}

/// Fractional index of the pair with so many turns.
double pair_of(const LlmConfig& config, double turns, double positions) {
  return static_cast<double>(config.head_dim()) * std::log(positions / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(config.rope_base));
}

std::vector<double> yarn_kept(const LlmConfig& config, const RotaryScaling& scaling) {
  const double last = static_cast<double>(config.head_dim()) - 1;
  const double first = std::max(0.0, std::floor(pair_of(config, scaling.fast_turns, scaling.original)));
  const double end = std::min(last, std::ceil(pair_of(config, scaling.slow_turns, scaling.original)));
  std::vector<double> kept(config.head_dim() / 2);
  for (std::size_t pair = 0; pair < kept.size(); ++pair) {
    const double along = (static_cast<double>(pair) - first) / std::max(0.001, end - first);
    kept[pair] = 1 - std::clamp(along, 0.0, 1.0);
  }
  return kept;
}

/// Allocates from a block, aligned to 64 bytes. Without memory it only counts.
class Arena {
 public:
  explicit Arena(std::byte* memory = nullptr) : memory_(memory) {}

  std::size_t used() const { return used_; }

  template <typename T>
  T* take(std::size_t count) {
    std::byte* piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += InputCopies::stride_of(count * sizeof(T));
    return reinterpret_cast<T*>(piece);
  }

  LlmMatrix matrix(std::size_t rows, std::size_t columns, LlmFormat format) {
    LlmMatrix made;
    made.rows = rows;
    made.columns = columns;
    made.format = format;
    made.weights = take<std::byte>(rows * row_bytes(format, columns));
    if (format == LlmFormat::kInt8) made.scales = take<Bf16>(rows);
    return made;
  }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

LlmLayer place_layer(Arena& arena, const LlmConfig& config, std::size_t index) {
  const LlmLayerFormats formats = config.formats_of(index);
  LlmLayer layer;
  layer.attention_norm = arena.take<Bf16>(config.dim);
  layer.qkv =
      arena.matrix(formats.has_one_qkv() ? config.qkv_rows() : config.q_dim(), config.dim, formats.qkv);
  if (!formats.has_one_qkv()) {
    layer.keys = arena.matrix(config.kv_dim(), config.dim, formats.key);
    layer.values = arena.matrix(config.kv_dim(), config.dim, formats.value);
  }
  if (config.has_bias) layer.bias = arena.take<float>(config.qkv_rows());
  layer.out = arena.matrix(config.dim, config.q_dim(), formats.out);
  layer.ffn_norm = arena.take<Bf16>(config.dim);
  if (config.is_gated()) layer.gate = arena.matrix(config.experts, config.dim, LlmFormat::kBf16);
  for (std::size_t expert = 0; expert < config.experts; ++expert) {
    layer.w1.push_back(arena.matrix(config.hidden, config.dim, formats.up));
    layer.w3.push_back(arena.matrix(config.hidden, config.dim, formats.up));
    layer.w2.push_back(arena.matrix(config.dim, config.hidden, formats.down));
  }
  if (config.shared_hidden > 0) {
    layer.shared_gate = arena.matrix(1, config.dim, LlmFormat::kBf16);
    layer.shared_w1 = arena.matrix(config.shared_hidden, config.dim, formats.shared_up);
    layer.shared_w3 = arena.matrix(config.shared_hidden, config.dim, formats.shared_up);
    layer.shared_w2 = arena.matrix(config.dim, config.shared_hidden, formats.shared_down);
  }
  return layer;
}

std::size_t layer_bytes(const LlmConfig& config, std::size_t index) {
  Arena counted;
  place_layer(counted, config, index);
  return counted.used();
}

std::size_t ends_bytes(const LlmConfig& config) {
  Arena counted;
  counted.take<Bf16>(config.vocab * config.dim);
  counted.take<Bf16>(config.dim);
  counted.matrix(config.vocab, config.dim, config.output_format());
  return counted.used();
}

/// In [low, low + 65535 step].
void fill_uniform(std::span<Bf16> values, std::uint64_t seed, Slice slice, float low, float step) {
  constexpr std::size_t kBlock = 512;
  std::array<std::uint16_t, kBlock> bits{};
  for (std::size_t begin = slice.begin; begin < slice.end;) {
    const std::size_t block = begin / kBlock;
    for (std::size_t i = 0; i < kBlock / 4; ++i) {
      const std::uint64_t hash = random_bits(seed, block * (kBlock / 4) + i);
      for (std::size_t part = 0; part < 4; ++part)
        bits[4 * i + part] = static_cast<std::uint16_t>(hash >> (16 * part));
    }
    const std::size_t end = std::min(slice.end, (block + 1) * kBlock);
    for (; begin < end; ++begin) {
      values[begin] = to_bf16(low + step * static_cast<float>(bits[begin - block * kBlock]));
    }
  }
}

/// In [-127, 127].
void fill_uniform(std::span<std::int8_t> values, std::uint64_t seed, Slice slice) {
  for (std::size_t i = slice.begin; i < slice.end;) {
    std::uint64_t hash = random_bits(seed, i / 8) >> (i % 8 * 8);
    for (const std::size_t end = std::min(slice.end, i / 8 * 8 + 8); i < end; ++i, hash >>= 8) {
      values[i] = static_cast<std::int8_t>(static_cast<int>(((hash & 0xffU) * 255U) >> 8U) - 127);
    }
  }
}

/// Replaces -128 of int8, or 0 of 4 bits, by zero: a mean of 0 keeps long sums from drifting.
std::uint64_t balanced(std::uint64_t bits, LlmFormat format) {
  constexpr std::uint64_t kTops = 0x8080808080808080U, kLows = 0x1111111111111111U;
  if (format == LlmFormat::kInt4Blocks) {
    const std::uint64_t any = bits | bits >> 1U | bits >> 2U | bits >> 3U;
    return bits | (~any & kLows) << 3U;
  }
  const std::uint64_t other = bits ^ kTops;
  const std::uint64_t differs = ((other & ~kTops) + ~kTops) | other;
  return bits ^ (~differs & kTops);
}

/// Converts to binary16, truncating the fraction; subnormal below 2^-14.
std::uint16_t to_half(float positive) {
  if (positive < 0x1p-14F) return static_cast<std::uint16_t>(positive * 0x1p24F);
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(positive) >> 13U) - (112U << 10U));
}

/// Random, with mean 0. For 4 and 5 bits the factors are 32 to 63, each minimum the factor times the mean.
void fill_super_block(std::byte* block, std::size_t bytes, LlmFormat format, std::uint64_t seed,
                      float scale) {
  for (std::size_t i = 0; i < bytes; i += sizeof seed) {
    const std::uint64_t word = random_bits(seed, i);
    std::memcpy(block + i, &word, std::min(sizeof word, bytes - i));
  }
  if (format == LlmFormat::kInt6Super) {
    const std::uint16_t half = to_half(scale);
    std::memcpy(block + bytes - sizeof half, &half, sizeof half);
    return;
  }
  const float middle = format == LlmFormat::kInt4Super ? 7.5F : 15.5F;
  const std::uint16_t factor = to_half(scale);
  const std::uint16_t halves[] = {factor, to_half(float_of_half(factor) * middle)};
  std::memcpy(block, halves, sizeof halves);
  std::byte* const packed = block + sizeof halves;  // layout: scale_and_minimum of stored_model.cpp
  for (std::size_t i = 0; i < 4; ++i) {
    packed[i] = (packed[i] & std::byte{0x5f}) | std::byte{0xa0};
    packed[4 + i] = packed[i];
    const auto low = std::to_integer<unsigned>(packed[8 + i]) & 15U;
    packed[8 + i] = static_cast<std::byte>(low * 17);
  }
}

/// Scales are 0.9 to 1.1 times `scale`.
void fill_blocks(const LlmMatrix& matrix, std::uint64_t seed, Slice rows, float scale) {
  const std::size_t bytes = block_bytes(matrix.format), words = bytes / sizeof(std::uint64_t);
  const std::size_t blocks_of_row = matrix.columns / block_columns(matrix.format);
  for (std::size_t block = rows.begin * blocks_of_row; block < rows.end * blocks_of_row; ++block) {
    std::byte* const at = matrix.weights + block * bytes;
    const auto part = static_cast<float>(random_bits(seed, block * (words + 1)) >> 40U) * 0x1p-24F;
    const float factor = scale * (0.9F + 0.2F * part);
    if (block_columns(matrix.format) == 256) {
      fill_super_block(at, bytes, matrix.format, random_bits(seed, block), factor);
      continue;
    }
    const std::uint16_t half = to_half(factor);
    std::memcpy(at, &half, sizeof half);
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint64_t numbers =
          balanced(random_bits(seed, block * (words + 1) + word + 1), matrix.format);
      std::memcpy(at + sizeof half + word * sizeof numbers, &numbers, sizeof numbers);
    }
  }
}

/// Root mean square of a block with scale 1, over that of [-1, 1].
float spread_of_blocks(LlmFormat format) {
  switch (format) {
    case LlmFormat::kInt8Blocks:
      return 127.5F;  // -127 to 127
    case LlmFormat::kInt4Blocks:
      return 7.25F;  // -7 to 7 with one more zero
    case LlmFormat::kInt4Super:
      return 386.4F;  // 32 to 63 times -7.5 to 7.5
    case LlmFormat::kInt5Super:
      return 773.9F;  // 32 to 63 times -15.5 to 15.5
    default:
      return 2365.3F;  // -128 to 127 times -32 to 31
  }
}

class Filler {
 public:
  Filler(std::uint64_t seed, const Team& team) : seed_(seed * 0x10001U), team_(team) {}

  void fill(Bf16* values, std::size_t count, float middle, float spread) {
    const std::uint64_t seed = ++seed_;
    team_([&](int worker, int workers) {
      fill_uniform(std::span(values, count), seed, slice_of(count, worker, workers), middle - spread,
                   2 * spread / 65535);
    });
  }

  void fill(const LlmMatrix& matrix) {
    const std::size_t count = matrix.rows * matrix.columns;
    // Uniform in [-a, a] has the variance a^2 / 3.
    const float spread = std::sqrt(3.0F / static_cast<float>(matrix.columns));
    if (matrix.format == LlmFormat::kBf16) {
      fill(reinterpret_cast<Bf16*>(matrix.weights), count, 0, spread);
      return;
    }
    const std::uint64_t seed = ++seed_;
    if (is_blocked(matrix.format)) {
      const float most = spread_of_blocks(matrix.format);
      team_([&](int worker, int workers) {
        fill_blocks(matrix, seed, slice_of(matrix.rows, worker, workers), spread / most);
      });
      return;
    }
    team_([&](int worker, int workers) {
      fill_uniform(std::span(reinterpret_cast<std::int8_t*>(matrix.weights), count), seed,
                   slice_of(count, worker, workers));
    });
    fill(matrix.scales, matrix.rows, spread / 127, 0.1F * spread / 127);
  }

  void fill(const LlmLayer& layer, std::size_t dim) {
    fill(layer.attention_norm, dim, 1, 0.1F);
    fill(layer.qkv);
    for (const LlmMatrix* matrix : {&layer.keys, &layer.values}) {
      if (matrix->rows > 0) fill(*matrix);
    }
    fill(layer.out);
    fill(layer.ffn_norm, dim, 1, 0.1F);
    if (layer.gate.rows > 0) fill(layer.gate);
    for (const auto* matrices : {&layer.w1, &layer.w3, &layer.w2}) {
      for (const LlmMatrix& matrix : *matrices) fill(matrix);
    }
    for (const LlmMatrix* matrix :
         {&layer.shared_gate, &layer.shared_w1, &layer.shared_w3, &layer.shared_w2}) {
      if (matrix->rows > 0) fill(*matrix);
    }
  }

 private:
  std::uint64_t seed_;
  const Team& team_;
};

/// All workers allocate: touching pages takes as long as writing them.
std::vector<Buffer> make_buffers(const std::vector<std::size_t>& bytes, const Team& team) {
  std::vector<Buffer> buffers(bytes.size());
  std::atomic<bool> complete = true;
  team([&](int worker, int workers) {
    const Slice slice = slice_of(bytes.size(), worker, workers);
    for (std::size_t index = slice.begin; index < slice.end; ++index) {
      try {
        buffers[index] = Buffer(bytes[index]);
      } catch (const std::bad_alloc&) {
        complete = false;
      }
    }
  });
  if (!complete) throw std::bad_alloc();
  return buffers;
}

}  // namespace

const char* name_of(LlmFormat format) {
  constexpr std::array kNames{"bf16", "int8", "int8_g32", "int4", "q4_k", "q5_k", "q6_k"};
  return kNames.at(static_cast<std::size_t>(format));
}

LlmFormat llm_format(std::string_view dtype) {
  for (const LlmFormat format : kLlmFormats) {
    if (dtype == name_of(format)) return format;
  }
  throw std::invalid_argument("unsupported dtype of weights " + std::string(dtype));
}

std::size_t block_bytes(LlmFormat format) {
  constexpr std::array<std::size_t, 7> kBytes{2, 1, 2 + 32, 2 + 16, 144, 176, 210};
  return kBytes.at(static_cast<std::size_t>(format));
}

std::size_t row_bytes(LlmFormat format, std::size_t columns) {
  return columns / block_columns(format) * block_bytes(format);
}

LlmLayerFormats LlmConfig::formats_of(std::size_t layer) const {
  if (!formats.empty()) return formats.at(layer);
  const LlmFormat all = llm_format(dtype);
  return {all, all, all, all};
}

LlmConfig llama2_7b(const std::string& dtype) {
  LlmConfig config;
  config.model = "Llama-2-7b-chat-hf";
  config.dtype = dtype;
  config.layers = 32;
  config.dim = 4096;
  config.heads = config.kv_heads = 32;
  config.hidden = 11008;
  config.vocab = 32000;
  return config;
}

LlmConfig mixtral_8x7b(const std::string& dtype) {
  LlmConfig config;
  config.model = "Mixtral-8x7B-v0.1";
  config.dtype = dtype;
  config.layers = 16;
  config.dim = 4096;
  config.heads = 32;
  config.kv_heads = 8;
  config.hidden = 14336;
  config.vocab = 32000;
  config.experts = 8;
  config.chosen = 2;
  config.rope_base = 1e6;
  return config;
}

void require_valid(const LlmConfig& config) {
  const auto require = [&](bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(config.model + ": " + what);
  };
  require(config.layers > 0 && config.dim > 0 && config.hidden > 0 && config.vocab > 0, "a size is 0");
  require(config.heads > 0 && (config.head_size > 0 || config.dim % config.heads == 0),
          "the heads do not divide dim");
  require(config.head_dim() % 2 == 0, "a head of odd size cannot be rotated");
  require(config.kv_heads > 0 && config.heads % config.kv_heads == 0, "kv_heads do not divide the heads");
  require(config.chosen > 0 && config.chosen <= config.experts, "more experts are chosen than the model has");
  require(std::ranges::any_of(kLlmFormats, [&](LlmFormat format) { return config.dtype == name_of(format); }),
          "the dtype must be bf16, int8, int8_g32, int4, q4_k, q5_k or q6_k");
  require(config.formats.empty() || config.formats.size() == config.layers,
          "the number of formats is not the number of layers");
  const auto require_blocks = [&](LlmFormat format, std::size_t columns) {
    require(columns % block_columns(format) == 0,
            block_columns(format) == 256 ? "rows are not multiples of 256" : "rows are not multiples of 32");
  };
  // Do not loop over a million requested layers.
  const std::size_t different = std::max<std::size_t>(config.formats.size(), 1);
  for (std::size_t layer = 0; layer < different; ++layer) {
    const LlmLayerFormats formats = config.formats_of(layer);
    for (const LlmFormat format : {formats.qkv, formats.key, formats.value, formats.up})
      require_blocks(format, config.dim);
    require_blocks(formats.out, config.q_dim());
    require_blocks(formats.down, config.hidden);
    require_blocks(formats.shared_up, config.dim);
    require_blocks(formats.shared_down, config.shared_hidden);
  }
  require_blocks(config.output_format(), config.dim);
}

void scale_rotation(LlmConfig& config, const RotaryScaling& scaling) {
  if (scaling.kind == "none" || scaling.kind == "default") return;
  const bool is_llama3 = scaling.kind == "llama3", is_yarn = scaling.kind == "yarn";
  require(scaling.kind == "linear" || is_llama3 || is_yarn,
          "the rotation is scaled as '" + scaling.kind +
              "', which is not supported; linear, llama3 and yarn are");
  require(scaling.factor >= 1 && scaling.factor < 1e6,
          "the factor of the rotation's scaling must be at least 1");
  if (is_llama3 || is_yarn) {
    require(scaling.original >= 1 && scaling.original < 1e9,
            "the rotation is scaled as '" + scaling.kind +
                "', but the number of positions in training is missing");
  }
  if (is_llama3) {
    require(scaling.low_factor > 0 && scaling.high_factor > scaling.low_factor && scaling.high_factor < 1e9,
            "the rotation's high_freq_factor must be above its low_freq_factor");
  }
  if (is_yarn) {
    require(scaling.slow_turns > 0 && scaling.fast_turns >= scaling.slow_turns && scaling.fast_turns < 1e9,
            "the rotation's beta_fast must be at least its beta_slow");
    const double magnitude = scaling.magnitude.value_or(0.1 * std::log(scaling.factor) + 1);
    require(magnitude > 0 && magnitude < 1e3, "the rotation's attention_factor must be above 0");
    config.rope_magnitude = static_cast<float>(magnitude);
  }
  std::vector<double> kept(config.head_dim() / 2);
  if (is_yarn) kept = yarn_kept(config, scaling);
  config.rope_factors.resize(kept.size());
  for (std::size_t pair = 0; pair < kept.size(); ++pair) {
    if (is_llama3) kept[pair] = llama3_kept(turns_of(config, pair, scaling.original), scaling);
    config.rope_factors[pair] = static_cast<float>(divisor(kept[pair], scaling.factor));
  }
}

LlmWeights::LlmWeights(const LlmConfig& config, const Team& team) : config_(config) {
  require_valid(config);
  std::vector<std::size_t> bytes;
  for (std::size_t index = 0; index < config.layers; ++index) bytes.push_back(layer_bytes(config, index));
  bytes.push_back(ends_bytes(config));
  memory_ = make_buffers(bytes, team);
  for (std::size_t index = 0; index < config.layers; ++index) {
    Arena arena(memory_[index].data());
    layers_.push_back(place_layer(arena, config, index));
  }
  Arena arena(memory_.back().data());
  embedding_ = arena.take<Bf16>(config.vocab * config.dim);
  final_norm_ = arena.take<Bf16>(config.dim);
  output_ = arena.matrix(config.vocab, config.dim, config.output_format());
}

LlmWeights LlmWeights::zeroed(const LlmConfig& config, const Team& team) {
  return {config, team};
}

LlmWeights::LlmWeights(const LlmConfig& config, std::uint64_t seed, const Team& team)
    : LlmWeights(config, team) {
  Filler filler(seed, team);
  for (const LlmLayer& layer : layers_) filler.fill(layer, config.dim);
  filler.fill(embedding_, config.vocab * config.dim, 0, std::sqrt(3.0F));
  filler.fill(final_norm_, config.dim, 1, 0.1F);
  filler.fill(output_);
}

std::size_t llm_bytes(const LlmConfig& config) {
  std::size_t layers = 0;
  if (config.formats.empty()) {
    layers = bytes_of(config.layers, layer_bytes(config, 0));
  } else {
    for (std::size_t index = 0; index < config.layers; ++index) layers += layer_bytes(config, index);
  }
  return bytes_of(layers + ends_bytes(config), 1);  // saturates
}

LlmActivated llm_activated(const LlmConfig& config) {
  LlmActivated sum;
  const auto add = [&](std::size_t rows, std::size_t columns, LlmFormat format, double times) {
    const auto count = static_cast<double>(rows);
    const std::size_t scale = format == LlmFormat::kInt8 ? sizeof(Bf16) : 0;
    sum.parameters += times * count * static_cast<double>(columns);
    sum.bytes += times * count * static_cast<double>(row_bytes(format, columns) + scale);
  };
  const std::size_t different = std::max<std::size_t>(config.formats.size(), 1);
  const double alike = static_cast<double>(config.layers) / static_cast<double>(different);
  for (std::size_t index = 0; index < different; ++index) {
    const LlmLayerFormats formats = config.formats_of(index);
    const double experts = alike * static_cast<double>(config.chosen);
    add(config.q_dim(), config.dim, formats.qkv, alike);
    add(config.kv_dim(), config.dim, formats.key, alike);
    add(config.kv_dim(), config.dim, formats.value, alike);
    add(config.dim, config.q_dim(), formats.out, alike);
    if (config.is_gated()) add(config.experts, config.dim, LlmFormat::kBf16, alike);
    add(2 * config.hidden, config.dim, formats.up, experts);
    add(config.dim, config.hidden, formats.down, experts);
    if (config.shared_hidden > 0) {
      add(1, config.dim, LlmFormat::kBf16, alike);
      add(2 * config.shared_hidden, config.dim, formats.shared_up, alike);
      add(config.dim, config.shared_hidden, formats.shared_down, alike);
    }
  }
  const std::size_t bias = config.has_bias ? config.qkv_rows() * sizeof(float) : 0;
  sum.bytes += static_cast<double>(config.layers) * static_cast<double>(2 * config.dim * sizeof(Bf16) + bias);
  sum.bytes += static_cast<double>(config.dim * sizeof(Bf16));
  add(config.vocab, config.dim, config.output_format(), 1);
  return sum;
}

}  // namespace headroom
