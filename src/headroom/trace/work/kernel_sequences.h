// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/columns/kernel_category.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

inline constexpr std::size_t kLongestSequence = 5;

/// Kernels that follow one another on a stream, again and again.
struct KernelSequence {
  std::vector<NameId> names;              ///< 2 to kLongestSequence
  std::int64_t count = 0;                 ///< 2 or more
  std::int64_t total_ns = 0;              ///< of its kernels, over all its occurrences
  std::int64_t gaps_ns = 0;               ///< between them, where the stream has nothing to do
  std::vector<std::uint32_t> first_rows;  ///< of Trace::gpu: with which each occurrence begins
};

/// The sequences that a fusion would take, the longest total time first: of kernels that a fusion can take
/// (loops over elements, normalisations, reductions, look-ups, steps of optimizers, kernels that move data),
/// with nothing else of the stream between them. No kernel is in two of them: each sequence is counted by
/// what those before it left. At most `most`, 0 for all. `categories` are kernel_categories(trace).
std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             const std::vector<KernelCategory>& categories, std::size_t most);
/// The same within runs of rows of Trace::gpu that a fusion could take.
std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             std::span<const std::vector<std::uint32_t>> runs,
                                             std::size_t most);
/// "add + mul x2 + tanh".
std::string sequence_text(const Trace& trace, const KernelSequence& sequence);

}  // namespace headroom::trace
