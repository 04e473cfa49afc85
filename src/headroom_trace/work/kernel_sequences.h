// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

inline constexpr std::size_t kLongestSequence = 5;

/// A repeated sequence of kernels on a stream.
struct KernelSequence {
  std::vector<NameId> names;              ///< 2 to kLongestSequence
  std::int64_t count = 0;                 ///< 2 or more
  std::int64_t total_ns = 0;              ///< of its kernels, over all its occurrences
  std::int64_t gaps_ns = 0;               ///< idle time of the stream between them
  std::vector<std::uint32_t> first_rows;  ///< of Trace::gpu: the first of each occurrence
};

/// Returns the sequences that a fusion could replace, longest total time first: fusible kernels (elementwise
/// loops, normalisations, reductions, lookups, optimizer steps, data movement) with no other work of the
/// stream between them. No kernel is in two sequences: each is counted without the kernels of those before
/// it. At most `most`, 0: all. `categories` are kernel_categories(trace).
std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             const std::vector<KernelCategory>& categories, std::size_t most);
/// Same, within given runs of fusible rows of Trace::gpu.
std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             std::span<const std::vector<std::uint32_t>> runs,
                                             std::size_t most);
/// "add + mul x2 + tanh".
std::string sequence_text(const Trace& trace, const KernelSequence& sequence);

}  // namespace headroom::trace
