// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/buffer.h"
#include "headroom/workload/slice.h"
#include "headroom_native/kernels/gemv_kernel.h"

namespace headroom::native {

/// A gemv whose rows are split over workers, with each worker's own memory for x.
class SplitGemv {
 public:
  SplitGemv(GemvKernel kernel, int workers, std::size_t columns, GemvWalk walk);

  const std::string& isa() const { return kernel_.isa; }
  std::size_t columns() const { return columns_; }

  /// Brings x[columns] into the form that the kernel reads, for `worker`.
  void prepare(int worker, const Bf16* x);
  /// sums[row] = weights[row] * x for the rows of `slice`.
  void multiply(int worker, const std::byte* weights, std::size_t bytes_per_row, Slice slice,
                float* sums) const;
  /// y[row] = sums[row] rounded to bf16, for the rows of `slice`.
  void round(const float* sums, Slice slice, Bf16* y) const {
    kernel_.round(sums + slice.begin, slice.size(), y + slice.begin);
  }

 private:
  GemvKernel kernel_;
  std::size_t columns_;
  GemvWalk walk_;
  std::vector<Buffer> prepared_;
};

/// "2.9e-05": the root mean square of sums - expected over that of expected, before anything is rounded to
/// bf16. For the record: rounding hides the difference between the forms of a kernel.
std::string error_of_sums(std::span<const float> sums, std::span<const double> expected);

/// to[i] = from[i] for i in `slice`.
void round_to_bf16(const float* from, Slice slice, Bf16* to);

}  // namespace headroom::native
