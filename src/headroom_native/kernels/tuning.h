// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/norm_kernel.h"

/// The ways in which the backend "native" can do the same, for Experiment::variants. Which one is the fastest
/// depends on the shape and on the machine.
namespace headroom::native {

struct GemvChoice {
  std::string name;  ///< "1 row, 8 KiB ahead"
  GemvWalk walk;
  GemvForm form = GemvForm::kBest;
  bool one_thread = false;  ///< where starting and joining the others costs more than they save
};
struct NormChoice {
  std::string name;
  NormWalk walk;
};

/// Those that weights of one of `dtypes` have on `isa`. What is for one dtype alone skips a case of another.
std::vector<GemvChoice> gemv_choices(const std::vector<std::string>& dtypes, Isa isa);
const std::vector<NormChoice>& norm_choices();

/// Their names, on the instruction set that this process was told to use: the best where what it was told is
/// none, which each case then says.
std::vector<std::string> gemv_variants(const std::vector<std::string>& dtypes);
/// Of several layers of bf16, which are always worth all threads.
std::vector<std::string> mlp_variants();
std::vector<std::string> norm_variants();

/// What State::variant() asks for; where it asks for nothing, what suits `bytes_per_thread` of weights (of
/// input and output). Says it in the note "variant". Skips the case where the variant does not apply to it.
GemvChoice gemv_choice(State& state, std::size_t bytes_per_thread, std::string_view dtype, Isa isa);
NormChoice norm_choice(State& state, std::size_t bytes_per_thread);

}  // namespace headroom::native
