// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace headroom::native {

/// The memory operand of ldtilecfg: eight tiles of 16 rows of 64 bytes. Source: Intel SDM volume 1,
/// chapter 18.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

/// Whether this CPU has products of tiles of `dtype` ("bf16", "int8").
bool cpu_has_tiles(std::string_view dtype);

/// Asks the kernel for tiles: state that Linux saves only for processes that asked (arch_prctl(2)). The
/// permission holds for all threads of the process and may be asked for again.
bool permits_tiles();

}  // namespace headroom::native
