// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"

namespace headroom {
namespace {

/// A reducer that does not work alone.
constexpr const char* kNeedsTwo = "c10d";

struct RankCount {
  std::string label;
  int ranks;
};

std::vector<RankCount> rank_counts(const DdpSweep& sweep) {
  std::vector<RankCount> counts;
  for (const int ranks : sweep.ranks) {
    if (ranks < 1 || ranks > sweep.world) {
      throw Error(fmt::format("{} ranks in a world of {}: ask for fewer with --ranks, or start more", ranks,
                              sweep.world));
    }
    counts.push_back({ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks), ranks});
  }
  if (!counts.empty()) return counts;
  for (const int ranks : {1, 2, 4}) {
    if (ranks <= sweep.world) counts.push_back({fmt::format("1M/{}G", ranks), ranks});
  }
  for (int machines = 1; machines * 8 <= sweep.world; ++machines) {
    counts.push_back({fmt::format("{}M/8G", machines), machines * 8});
  }
  return counts;
}

std::string trace_folder(const DdpSweep& sweep, const std::string& model, std::int64_t bucket_bytes) {
  if (sweep.trace.empty()) return {};
  const bool is_one = sweep.models.size() * sweep.bucket_bytes.size() == 1;
  if (is_one) return sweep.trace;
  const double mebibytes = static_cast<double>(bucket_bytes) / (1 << 20);
  return fmt::format("{}/{}-{:g}MiB", sweep.trace, model, mebibytes);
}

}  // namespace

std::vector<DdpStep> ddp_steps(const DdpSweep& sweep, const std::string& model) {
  std::vector<RankCount> counts = rank_counts(sweep);
  std::ranges::stable_sort(counts, {}, &RankCount::ranks);
  if (sweep.reducer == kNeedsTwo) {
    std::erase_if(counts, [](const RankCount& count) { return count.ranks == 1; });
    if (counts.empty()) throw Error("c10d's reducer needs two ranks or more: ask for them with --ranks");
  }
  std::vector<DdpStep> steps{{"no ddp", 1, false, sweep.bucket_bytes.front()}};
  for (const std::int64_t bytes : sweep.bucket_bytes) {
    for (const RankCount& count : counts) steps.push_back({count.label, count.ranks, true, bytes});
    steps.back().trace = trace_folder(sweep, model, bytes);
  }
  return steps;
}

}  // namespace headroom
