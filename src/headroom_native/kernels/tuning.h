// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/norm_kernel.h"

/// Variants of "native"; the fastest depends on shape and machine.
namespace headroom::native {

struct GemvChoice {
  std::string name;  ///< "1 row, 8 KiB ahead"
  GemvWalk walk;
  GemvForm form = GemvForm::kBest;
  bool one_thread = false;  ///< for work too small for several threads
};
struct NormChoice {
  std::string name;
  NormWalk walk;
};

/// Choices for any of `dtypes`; each skips cases of other dtypes.
std::vector<GemvChoice> gemv_choices(const std::vector<std::string>& dtypes, Isa isa);
const std::vector<NormChoice>& norm_choices();

/// Names for the requested instruction set, or the best one if that is invalid, which each case reports.
std::vector<std::string> gemv_variants(const std::vector<std::string>& dtypes);
/// For layers of bf16, which are always worth all threads.
std::vector<std::string> mlp_variants();
std::vector<std::string> norm_variants();

/// State::variant(), or a default for `bytes_per_thread` of weights (of input and output). Notes it as
/// "variant". Skips the case if it does not apply.
GemvChoice gemv_choice(State& state, std::size_t bytes_per_thread, std::string_view dtype, Isa isa);
NormChoice norm_choice(State& state, std::size_t bytes_per_thread);

}  // namespace headroom::native
