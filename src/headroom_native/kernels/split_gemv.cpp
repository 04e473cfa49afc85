// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/split_gemv.h"

#include <fmt/format.h>

#include <utility>

#include "headroom/experiment/scaled_error.h"

namespace headroom::native {

SplitGemv::SplitGemv(GemvKernel kernel, int workers, std::size_t columns, GemvWalk walk)
    : kernel_(std::move(kernel)), columns_(columns), walk_(walk) {
  for (int worker = 0; worker < workers; ++worker) prepared_.emplace_back(prepared_bytes(columns));
}

void SplitGemv::prepare(int worker, const Bf16* x) {
  kernel_.prepare(x, columns_, prepared_[static_cast<std::size_t>(worker)].data());
}

void SplitGemv::multiply(int worker, const std::byte* weights, std::size_t bytes_per_row, Slice slice,
                         float* sums) const {
  kernel_.multiply(weights + slice.begin * bytes_per_row, slice.size(), columns_,
                   prepared_[static_cast<std::size_t>(worker)].data(), walk_, sums + slice.begin);
}

std::string error_of_sums(std::span<const float> sums, std::span<const double> expected) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < expected.size(); ++i) errors.push_back(double{sums[i]} - expected[i]);
  const double scale = root_mean_square(expected);
  return fmt::format("{:.2g}", scale > 0 ? root_mean_square(errors) / scale : 0);
}

void round_to_bf16(const float* from, Slice slice, Bf16* to) {
  for (std::size_t i = slice.begin; i < slice.end; ++i) to[i] = to_bf16(from[i]);
}

}  // namespace headroom::native
