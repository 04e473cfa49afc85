// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom_native/kernels/unroll.h"

namespace headroom::native {

/// Four rows that are read at once, and where their results go: `stride` rows from one to the next, the last
/// row once more where there are fewer.
struct FourRows {
  std::size_t row[4];

  [[gnu::always_inline]] FourRows(std::size_t first, std::size_t stride, std::size_t rows) {
    HEADROOM_UNROLL(4)
    for (std::size_t i = 0; i < 4; ++i) row[i] = first + i * stride < rows ? first + i * stride : rows - 1;
  }
  template <typename Sums>
  [[gnu::always_inline]] void store(const Sums& sums, float* y) const {
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) y[row[i]] = sums[i];
  }
};

/// All rows in groups of four: neighbours, or a quarter of all rows apart and then the neighbours that are
/// left.
class RowGroups {
 public:
  [[gnu::always_inline]] RowGroups(std::size_t rows, bool apart)
      : rows_(rows), quarter_(apart ? rows / 4 : 0), count_(quarter_ + (rows - 4 * quarter_ + 3) / 4) {}
  [[gnu::always_inline]] std::size_t count() const { return count_; }
  [[gnu::always_inline]] FourRows at(std::size_t group) const {
    return group < quarter_ ? FourRows(group, quarter_, rows_) : FourRows(4 * group, 1, rows_);
  }

 private:
  std::size_t rows_, quarter_, count_;
};

}  // namespace headroom::native
