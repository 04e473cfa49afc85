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

struct KernelSequence {
  std::vector<NameId> names;  ///< 2 to kLongestSequence
  std::int64_t count = 0;
  std::int64_t total_ns = 0;  ///< of its kernels, over all occurrences
  std::int64_t gaps_ns = 0;
  std::vector<std::uint32_t> first_rows;  ///< of Trace::gpu, one per occurrence
};

/// Returns repeated sequences of fusible kernels with no other work of the stream between them, longest total
/// time first; each counted without the kernels of those before it. At most `most`; 0: all. `categories` are
/// kernel_categories(trace).
std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             const std::vector<KernelCategory>& categories, std::size_t most);
/// Same, within runs of fusible rows of Trace::gpu.
std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             std::span<const std::vector<std::uint32_t>> runs,
                                             std::size_t most);
std::string sequence_text(const Trace& trace, const KernelSequence& sequence);

}  // namespace headroom::trace
