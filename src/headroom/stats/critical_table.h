// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace headroom {

/// The row for `count`, linear in its logarithm in between and beyond the last one, where the slope of the
/// last two goes on: critical values grow ever more slowly.
template <typename Row, std::size_t kRows>
double interpolated(const std::array<Row, kRows>& table, std::size_t count, double Row::*column) {
  const double n = static_cast<double>(count);
  const auto above =
      std::find_if(table.begin() + 1, table.end() - 1, [n](const Row& row) { return row.count >= n; });
  const Row &low = *(above - 1), &high = *above;
  const double share = std::log(n / low.count) / std::log(high.count / low.count);
  return low.*column + share * (high.*column - low.*column);
}

}  // namespace headroom
