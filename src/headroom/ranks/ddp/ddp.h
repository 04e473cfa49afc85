// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/compare/diff_report.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// What a sweep of data-parallel training goes over.
struct DdpSweep {
  std::vector<std::string> models{"resnet18"};
  std::vector<std::int64_t> bucket_bytes{25LL << 20};
  std::vector<int> ranks;            ///< empty: those of PyTorch's benchmark, as far as the world has them
  int world = 1;                     ///< ranks that there are
  std::string reducer = "headroom";  ///< or "c10d", libtorch's own
  std::string trace;                 ///< folder for traces; empty: none
};

/// One way to train a model.
struct DdpStep {
  std::string label;  ///< "no ddp", "1M/2G" as PyTorch's benchmark has it, "4 ranks"
  int ranks = 1;
  bool ddp = true;
  std::int64_t bucket_bytes = 0;  ///< without DDP of no meaning
  std::string trace{};            ///< folder for a trace of each rank; empty: none
};

/// PyTorch's benchmark: rank 0 without DDP, then 1, 2 and 4 ranks, and every multiple of 8, as far as the
/// world has them. With a list of ranks these take the place of the latter. Of several bucket sizes only what
/// reduces is repeated. Throws Error where the world cannot hold a rank count.
std::vector<DdpStep> ddp_steps(const DdpSweep& sweep, const std::string& model);

/// The experiment that trains a model: "ddp.resnet18".
inline constexpr const char* kDdpPrefix = "ddp.";

/// The records of training as case_records() gives them, in the words of PyTorch's benchmark, with the
/// iterations of every rank as the samples of a process.
///
/// In s: "latency" (the headline), its parts "forward", "backward", "wait" and "step"; where ranks reduce
/// also "without reduction", "exposed communication" (the difference of the two in the same round) and
/// "communication" (while any bucket was on its way). "overlap" is the share of it that the backward pass
/// hides, "throughput" the examples a second of all ranks together. In us, since the backward pass began:
/// "bucket 0 launched", "bucket 0 completed", with "bytes" and "tensors" in Metric::numbers. The ratio of a
/// case is its time over that without DDP in the same rounds. `steps` are those of the plan.
std::vector<Record> ddp_records(std::vector<Record> records, const std::vector<DdpStep>& steps);

/// What `headroom ddp` shows of its records: how well each model scales; for each model and bucket size the
/// percentiles that PyTorch's DDP benchmark prints, how training scales with the ranks and what communication
/// costs, the parts of an iteration, the buckets of the most ranks, and what an all-reduce costs by its size;
/// then what was not measured, and notes.
Sheet ddp_sheet(const std::vector<Record>& records);

/// The median of each rank, a row for each step and rank.
Table ddp_rank_table(const std::vector<Record>& records);

/// How data-parallel training scales on both sides: a row for each rank count of a model and batch size, from
/// the comparisons whose case has an axis "ranks" and whose metric is a time. Efficiency is the time with the
/// fewest ranks over the time with this many: each rank does the same work, so 100 % is perfect. Skew is how
/// much slower the slowest rank is than the fastest, by their medians; "-" where the samples do not tell the
/// ranks apart. No rows where no case has two rank counts.
Table scaling_table(const DiffReport& report);

/// Records of `headroom ddp` in the form that PyTorch's DDP benchmark writes with --json and its diff.py
/// reads: for each model (and bucket size) the iterations of every rank in s, rank after rank, of the step
/// without DDP first. Steps that gave nothing are left out; a model whose step without DDP did is, too, as
/// readers take the first for that one. Members of our own in a model, so that readers tell results apart:
/// "image_size" where it is not the 224 of PyTorch's, "bucket_size" (MB) where there are several.
std::string ddp_seed_report(const std::vector<Record>& records, const std::string& pytorch_version,
                            const std::string& backend);

}  // namespace headroom
