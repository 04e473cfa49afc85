// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_weights.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <new>

#include "headroom/experiment/random.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/slice.h"

namespace headroom {
namespace {

/// Hands out pieces of memory, each from a multiple of 64 bytes on. Without memory it only counts.
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

  LlmMatrix matrix(std::size_t rows, std::size_t columns, const std::string& dtype) {
    LlmMatrix made;
    made.rows = rows;
    made.columns = columns;
    made.weights = take<std::byte>(rows * columns * item_bytes(dtype));
    if (dtype == "int8") made.scales = take<Bf16>(rows);
    return made;
  }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

LlmLayer place_layer(Arena& arena, const LlmConfig& config) {
  LlmLayer layer;
  layer.attention_norm = arena.take<Bf16>(config.dim);
  layer.qkv = arena.matrix(config.qkv_rows(), config.dim, config.dtype);
  layer.out = arena.matrix(config.dim, config.dim, config.dtype);
  layer.ffn_norm = arena.take<Bf16>(config.dim);
  if (config.is_gated()) layer.gate = arena.matrix(config.experts, config.dim, "bf16");
  for (std::size_t expert = 0; expert < config.experts; ++expert) {
    layer.w1.push_back(arena.matrix(config.hidden, config.dim, config.dtype));
    layer.w3.push_back(arena.matrix(config.hidden, config.dim, config.dtype));
    layer.w2.push_back(arena.matrix(config.dim, config.hidden, config.dtype));
  }
  return layer;
}

std::size_t layer_bytes(const LlmConfig& config) {
  Arena counted;
  place_layer(counted, config);
  return counted.used();
}

std::size_t ends_bytes(const LlmConfig& config) {
  Arena counted;
  counted.take<Bf16>(config.vocab * config.dim);
  counted.take<Bf16>(config.dim);
  counted.matrix(config.vocab, config.dim, config.dtype);
  return counted.used();
}

/// Uniform in [low, low + 65535 step]: four of each hash, as billions are made.
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

/// Uniform in [-127, 127], eight of each hash.
void fill_uniform(std::span<std::int8_t> values, std::uint64_t seed, Slice slice) {
  for (std::size_t i = slice.begin; i < slice.end;) {
    std::uint64_t hash = random_bits(seed, i / 8) >> (i % 8 * 8);
    for (const std::size_t end = std::min(slice.end, i / 8 * 8 + 8); i < end; ++i, hash >>= 8) {
      values[i] = static_cast<std::int8_t>(static_cast<int>(((hash & 0xffU) * 255U) >> 8U) - 127);
    }
  }
}

/// Fills pieces one after the other, each with numbers of its own.
class Filler {
 public:
  Filler(std::uint64_t seed, const Team& team) : seed_(seed * 0x10001U), team_(team) {}

  /// Uniform around `middle`, up to `spread` from it.
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
    if (matrix.scales == nullptr) {
      fill(reinterpret_cast<Bf16*>(matrix.weights), count, 0, spread);
      return;
    }
    const std::uint64_t seed = ++seed_;
    team_([&](int worker, int workers) {
      fill_uniform(std::span(reinterpret_cast<std::int8_t*>(matrix.weights), count), seed,
                   slice_of(count, worker, workers));
    });
    fill(matrix.scales, matrix.rows, spread / 127, 0.1F * spread / 127);
  }

  void fill(const LlmLayer& layer, std::size_t dim) {
    fill(layer.attention_norm, dim, 1, 0.1F);
    fill(layer.qkv);
    fill(layer.out);
    fill(layer.ffn_norm, dim, 1, 0.1F);
    if (layer.gate.rows > 0) fill(layer.gate);
    for (const auto* matrices : {&layer.w1, &layer.w3, &layer.w2}) {
      for (const LlmMatrix& matrix : *matrices) fill(matrix);
    }
  }

 private:
  std::uint64_t seed_;
  const Team& team_;
};

/// Memory for each layer: whoever makes it touches its pages first, which costs as much time as writing them.
std::vector<Buffer> make_buffers(const std::vector<std::size_t>& bytes, const Team& team) {
  std::vector<Buffer> buffers(bytes.size());
  std::atomic<bool> complete = true;
  team([&](int worker, int workers) {
    const Slice slice = slice_of(bytes.size(), worker, workers);
    for (std::size_t index = slice.begin; index < slice.end; ++index) {
      try {
        buffers[index] = Buffer(bytes[index]);
      } catch (const std::bad_alloc&) {
        complete = false;  // a worker must not throw
      }
    }
  });
  if (!complete) throw std::bad_alloc();
  return buffers;
}

}  // namespace

LlmWeights::LlmWeights(const LlmConfig& config, std::uint64_t seed, const Team& team) : config_(config) {
  require_sound(config);
  std::vector<std::size_t> bytes(config.layers, layer_bytes(config));
  bytes.push_back(ends_bytes(config));
  memory_ = make_buffers(bytes, team);
  Filler filler(seed, team);
  for (std::size_t index = 0; index < config.layers; ++index) {
    Arena arena(memory_[index].data());
    layers_.push_back(place_layer(arena, config));
    filler.fill(layers_.back(), config.dim);
  }
  Arena arena(memory_.back().data());
  embedding_ = arena.take<Bf16>(config.vocab * config.dim);
  final_norm_ = arena.take<Bf16>(config.dim);
  output_ = arena.matrix(config.vocab, config.dim, config.dtype);
  filler.fill(embedding_, config.vocab * config.dim, 0, std::sqrt(3.0F));
  filler.fill(final_norm_, config.dim, 1, 0.1F);
  filler.fill(output_);
}

std::size_t llm_bytes(const LlmConfig& config) {
  const std::size_t layers = bytes_of(config.layers, layer_bytes(config));
  return bytes_of(layers + ends_bytes(config), 1);  // no more than a number of bytes can be
}

LlmActivated llm_activated(const LlmConfig& config) {
  const bool is_int8 = config.dtype == "int8";
  LlmActivated sum;
  const auto add = [&](std::size_t rows, std::size_t columns, bool int8) {
    const double count = static_cast<double>(rows) * static_cast<double>(columns);
    sum.parameters += count;
    sum.bytes += int8 ? count + static_cast<double>(rows * sizeof(Bf16)) : count * sizeof(Bf16);
  };
  add(config.qkv_rows(), config.dim, is_int8);
  add(config.dim, config.dim, is_int8);
  if (config.is_gated()) add(config.experts, config.dim, false);
  for (std::size_t expert = 0; expert < config.chosen; ++expert) {
    add(config.hidden, config.dim, is_int8);
    add(config.hidden, config.dim, is_int8);
    add(config.dim, config.hidden, is_int8);
  }
  const double norm = static_cast<double>(config.dim * sizeof(Bf16));
  sum.bytes += 2 * norm;
  sum.parameters *= static_cast<double>(config.layers);
  sum.bytes *= static_cast<double>(config.layers);
  sum.bytes += norm;
  add(config.vocab, config.dim, is_int8);
  return sum;
}

}  // namespace headroom
