// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "headroom/experiment/bf16.h"

namespace headroom::native {

/// For ldtilecfg: eight tiles of 16 rows of 64 bytes. Source: Intel SDM volume 1, chapter 18.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

/// `Tiles` is AMX, or a model of it on other CPUs: set_up(), zero<t>(), load<t>(from, stride), store<t>(to,
/// stride) with strides in bytes, and multiply<c, a, b>(): c[v][r] += a[v][2 p] * b[p][2 r] + a[v][2 p + 1] *
/// b[p][2 r + 1] for 16 pairs p.
template <typename Tiles>
class TiledGemm {
 public:
  static constexpr std::size_t kSide = 16;     ///< rows of a tile, and floats in a row
  static constexpr std::size_t kColumns = 32;  ///< bf16 in a row

  /// As GemmKernel::multiply, with up to kSide rows.
  static void multiply(const Bf16* const* rows, std::size_t used, std::size_t columns,
                       const Bf16* const* vectors, std::size_t count, bool adds, std::size_t ahead,
                       float* const* sums) {
    Tiles tiles;
    tiles.set_up();
    for (std::size_t k = 0; k < columns; k += kBlock) {
      const std::size_t some = std::min(kBlock, columns - k);
      alignas(64) Weights weights;
      pack(rows, used, k, some, ahead, weights);
      for (std::size_t v = 0; v < count; v += 2 * kSide) {
        const std::size_t here = std::min(2 * kSide, count - v);
        multiply_block(tiles, weights, some, k, vectors + v, here);
        add(tiles, used, here, adds || k > 0, sums + v);
      }
    }
  }

 private:
  /// 16 KiB of weights, which fit L1.
  static constexpr std::size_t kBlock = 512;
  /// One tile per 32 columns: row p has columns 2 p and 2 p + 1 of each row of the matrix.
  using Weights = std::uint32_t[kBlock / kColumns][kSide][kSide];

  static void pack(const Bf16* const* rows, std::size_t used, std::size_t from, std::size_t columns,
                   std::size_t ahead, Weights& weights) {
    for (std::size_t k = 0; k < columns; k += kColumns) {
      auto& tile = weights[k / kColumns];
      const std::size_t bytes = std::min(kColumns, columns - k) * sizeof(Bf16);
      for (std::size_t row = 0; row < kSide; ++row) {
        std::uint32_t pairs[kSide] = {};
        if (row < used) {
          const auto* at = reinterpret_cast<const std::byte*>(rows[row] + from + k);
          if (ahead > 0) __builtin_prefetch(at + ahead, 0, 2);
          std::memcpy(pairs, at, bytes);
        }
        for (std::size_t pair = 0; pair < kSide; ++pair) tile[pair][row] = pairs[pair];
      }
    }
  }

  /// Multiplies up to 32 vectors: a tile of weights serves two products.
  static void multiply_block(Tiles& tiles, const Weights& weights, std::size_t columns, std::size_t from,
                             const Bf16* const* vectors, std::size_t count) {
    tiles.template zero<0>();
    tiles.template zero<1>();
    const std::size_t first = std::min(kSide, count);
    for (std::size_t k = 0; k < columns; k += kColumns) {
      const std::size_t some = std::min(kColumns, columns - k);
      tiles.template load<4>(weights[k / kColumns], kSide * sizeof(std::uint32_t));
      load_vectors<2>(tiles, vectors, first, from + k, some);
      tiles.template multiply<0, 2, 4>();
      if (count <= kSide) continue;
      load_vectors<3>(tiles, vectors + kSide, count - kSide, from + k, some);
      tiles.template multiply<1, 3, 4>();
    }
  }

  /// Loads evenly spaced vectors in place; copies others, zero-padded.
  template <int kTile>
  static void load_vectors(Tiles& tiles, const Bf16* const* vectors, std::size_t count, std::size_t from,
                           std::size_t columns) {
    if (count == kSide && columns == kColumns) {
      const auto address = [&](std::size_t v) { return reinterpret_cast<std::intptr_t>(vectors[v]); };
      const std::intptr_t stride = address(1) - address(0);
      bool is_even = true;
      for (std::size_t v = 2; v < kSide; ++v) is_even = is_even && address(v) - address(v - 1) == stride;
      if (is_even) return tiles.template load<kTile>(vectors[0] + from, static_cast<std::size_t>(stride));
    }
    alignas(64) Bf16 copy[kSide][kColumns] = {};
    for (std::size_t v = 0; v < count; ++v) std::memcpy(copy[v], vectors[v] + from, columns * sizeof(Bf16));
    tiles.template load<kTile>(copy, sizeof copy[0]);
  }

  static void add(Tiles& tiles, std::size_t used, std::size_t count, bool adds, float* const* sums) {
    alignas(64) float found[2 * kSide][kSide];
    tiles.template store<0>(found[0], sizeof found[0]);
    tiles.template store<1>(found[kSide], sizeof found[0]);
    for (std::size_t v = 0; v < count; ++v) {
      for (std::size_t row = 0; row < used; ++row) sums[v][row] = found[v][row] + (adds ? sums[v][row] : 0);
    }
  }
};

}  // namespace headroom::native
