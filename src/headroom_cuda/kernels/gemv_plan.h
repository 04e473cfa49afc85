// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_cuda/kernels/launch_start.h"

namespace headroom::cuda {

/// What a thread of a gemv kernel has in flight: this many vectors of 16 bytes of each of so many rows.
struct GemvForm {
  int vectors = 1;
  int rows = 1;
};
/// Those that are compiled; rows are powers of two.
inline constexpr std::array<GemvForm, 6> kGemvForms{{{1, 1}, {1, 2}, {1, 4}, {2, 2}, {2, 4}, {4, 2}}};
/// The only one where rows do not begin at multiples of 16 bytes.
inline constexpr GemvForm kUnalignedForm{1, 2};
/// The only one of the chain of linear layers.
inline constexpr GemvForm kLinearForm{4, 2};

/// Large blocks fill the device once: each works on its rows to the end. Of small ones there are four times
/// as many as run at once: processors that are faster take more of them, but each begins with nothing under
/// way.
enum class GemvBlocks : unsigned { kLarge = 512, kSmall = 256 };

/// How a gemv is launched.
struct GemvPlan {
  GemvForm form;
  GemvBlocks size = GemvBlocks::kLarge;
  Start start = Start::kBehindOther;
  unsigned team_threads = 0;  ///< that share a row: a power of two from 32 to threads()
  unsigned blocks = 0;
  bool aligned = true;  ///< every row begins at a multiple of 16 bytes

  unsigned threads() const { return static_cast<unsigned>(size); }  ///< of a block
  std::string name() const;  ///< "4 rows, 2 vectors", then ", small blocks", ", early", or both
};

std::string name_of(GemvForm form);
std::vector<std::string> gemv_variants();

/// For `outputs` rows of `row_bytes` bytes each on a device of `processors` multiprocessors. `variant` is one
/// of gemv_variants(), or empty for what suits the sizes. Throws Error for a name that is none.
GemvPlan gemv_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors, std::string_view variant);
/// For a layer of the chain.
GemvPlan linear_plan(std::size_t outputs, std::size_t row_bytes, unsigned processors);

}  // namespace headroom::cuda
