// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "headroom/compare/diff_report.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

struct DdpSweep {
  std::vector<std::string> models{"resnet18"};
  std::vector<std::int64_t> bucket_bytes{25LL << 20};
  std::vector<int> ranks;            ///< empty: those of PyTorch's benchmark that fit the world
  int world = 1;                     ///< available ranks
  std::string reducer = "headroom";  ///< or "c10d", libtorch's
  std::string trace;                 ///< folder for traces, or empty
};

struct DdpStep {
  std::string label;  ///< "no ddp", "1M/2G" as in PyTorch's benchmark, "4 ranks"
  int ranks = 1;
  bool ddp = true;
  std::int64_t bucket_bytes = 0;  ///< unused without DDP
  std::string trace{};            ///< folder, or empty
};

/// Steps of PyTorch's benchmark: rank 0 without DDP, then for each bucket size `sweep.ranks`, or 1, 2, 4 and
/// the multiples of 8 up to the world. Throws Error for ranks beyond the world.
std::vector<DdpStep> ddp_steps(const DdpSweep& sweep, const std::string& model);

inline constexpr const char* kDdpPrefix = "ddp.";

/// Converts case_records() to training metrics; a process's samples are a rank's iterations.
///
/// In s: "latency" (the headline), its parts "forward", "backward", "wait", "step"; for several ranks
/// "without reduction", "exposed communication" (the difference in the same round) and "communication" (while
/// any bucket is in flight). "overlap": the share of communication hidden by the backward pass; "throughput":
/// examples/s of all ranks. In us since the backward pass began: "bucket 0 launched", "bucket 0 completed".
/// Ratios are to the time without DDP in the same rounds.
std::vector<Record> ddp_records(std::vector<Record> records, const std::vector<DdpStep>& steps);

View ddp_view(const std::vector<Record>& records);

Table ddp_rank_table(const std::vector<Record>& records);

/// A row per rank count of each case with several. Efficiency: the time with the fewest ranks over this time;
/// skew: excess of the slowest rank's median over the fastest's, "-" if samples do not identify ranks.
Table scaling_table(const DiffReport& report);

/// --json of PyTorch's DDP benchmark (read by its diff.py): for each model the iterations of every rank in s,
/// first without DDP; models without that step are left out. Additional: "image_size" if not 224,
/// "bucket_size" (MB) if there are several.
std::string ddp_seed_report(const std::vector<Record>& records, const std::string& pytorch_version,
                            const std::string& backend);

/// Compares two reports of PyTorch's DDP benchmark, byte for byte like its diff.py: by position. Throws Error
/// where diff.py raises (missing members, zero times) and for what the benchmark never writes (ranks that are
/// not a list).
std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test);

}  // namespace headroom
