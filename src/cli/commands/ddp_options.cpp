// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/shared/option_table.h"
#include "cli/shared/rank_options.h"
#include "cli/shared/record_options.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/process/affinity.h"

namespace headroom::cli {
namespace {

constexpr const char* kDdpExamples = R"(examples:
  headroom ddp                                   resnet18 on as many ranks as there are CPUs, by PyTorch's sweep
  headroom ddp --ranks 1,2,4 --json report.json  these rank counts, and the report that PyTorch's diff.py reads
  headroom ddp --model resnet50,resnet101,resnext50_32x4d,resnext101_32x8d --image-size 224
                                                 what PyTorch's benchmark trains; slow on a small machine
  headroom ddp --model mlp --bucket-size 1,5,25  what the size of buckets does where there is much to reduce
  headroom diff --format ddp before.json after.json
  mpirun -n 4 headroom ddp                       ranks that another launcher started; also torchrun and srun

Each round has an iteration with the reduction of gradients and one without, in turn: what the one takes longer is the
communication that the backward pass could not hide. docs/ddp.md tells more.
)";

/// More ranks than that are for whoever asks for them.
constexpr int kMostRanksByDefault = 8;
constexpr double kMebibyte = 1 << 20;

struct RawDdpOptions {
  std::string timeout;
  std::vector<double> bucket_mb{25};
  int world = 0;
  bool no_store = false;
};

void declare_subject(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  DdpSetup& setup = options.sweep.base;
  table
      .add_option("--model", options.sweep.models,
                  "a model; repeat it for more (default resnet18, see --list)")
      .repeated()
      .delimiter(',');
  table.add_flag("--list", options.list, "show the models, and train nothing");
  table.add_option("--batch-size", setup.batch_size, "examples of each rank (default 32)")
      .range(1, 1'000'000'000);
  table
      .add_option("--image-size", setup.image_size,
                  "pixels a side of an image (default 64; PyTorch's has 224)")
      .range(1, 1'000'000);
  table
      .add_option("--bucket-size", raw.bucket_mb,
                  "MB of gradients in a bucket, or several sizes (default 25)")
      .repeated()
      .delimiter(',');
  table
      .add_option("--ranks", options.sweep.ranks,
                  "rank counts to sweep (default: 1, 2, 4 and multiples of 8)")
      .repeated()
      .delimiter(',')
      .range(1, 4096);
  table
      .add_option("--world", raw.world,
                  "ranks to start (default: the most of --ranks, or one for each CPU, at most 8)")
      .range(1, 4096);
  table.add_option("--backend", setup.backend, "gloo (default) or nccl").one_of({"gloo", "nccl"});
  table.add_option("--reducer", setup.reducer, "of gradients: headroom (default), or c10d, libtorch's own")
      .one_of({"headroom", "c10d"});
  table.add_option("--threads", setup.threads, "threads of an operator in each rank (default 1)")
      .range(1, 4096);
  table.add_option("--seed", setup.seed, "of the parameters and the data (default 1)");
}

void declare_measuring(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  table.add_option("--iters", options.limits.iterations, "measured iterations of each rank (default 10)")
      .range(1, 1'000'000);
  table.add_option("--warmup", options.limits.warmup, "iterations before them (default 5)")
      .range(0, 1'000'000);
  declare_rank_start(table, options.start, raw.timeout);
}

void declare_output(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  table.add_flag("--per-rank", options.per_rank, "show the medians of each rank");
  table.add_option("--json", options.json, "the report of PyTorch's DDP benchmark ('-': standard output)")
      .completed_by(Completes::kFile);
  table.add_option("--records", options.records, "all records with all samples ('-': standard output)")
      .completed_by(Completes::kFile);
  table.add_option("--oss", options.oss, "PyTorch OSS benchmark database records, schema v3")
      .completed_by(Completes::kFile);
  table
      .add_option("--trace", options.sweep.trace,
                  "folder for a trace of each rank of the largest steps: headroom trace reads it as one job")
      .completed_by(Completes::kFile);
  declare_store(table, options.store, raw.no_store);
}

/// Where the ranks are and how many: the launcher's word, --world, the most of --ranks, the CPUs.
void find_ranks(const RawDdpOptions& raw, DdpOptions& options) {
  RankStart& start = options.start;
  start.place = rank_place();
  const std::vector<int>& ranks = options.sweep.ranks;
  if (start.place) {
    start.ranks = start.place->size;
    if (raw.world != 0) require_launched(start.place, raw.world);
  } else if (raw.world != 0) {
    start.ranks = raw.world;
  } else if (!ranks.empty()) {
    start.ranks = std::ranges::max(ranks);
  } else {
    start.ranks = std::clamp(static_cast<int>(allowed_cpus().size()), 1, kMostRanksByDefault);
  }
  options.sweep.world = start.ranks;
}

void read_bucket_sizes(const RawDdpOptions& raw, DdpSweep& sweep) {
  sweep.bucket_bytes.clear();
  for (const double mb : raw.bucket_mb) {
    if (!(mb > 0) || mb > 1e6) {
      throw Error(fmt::format("--bucket-size {:g}: MB of gradients above 0, for example 25 or 0.5", mb));
    }
    sweep.bucket_bytes.push_back(std::max<std::int64_t>(4, static_cast<std::int64_t>(mb * kMebibyte)));
  }
}

/// What ranks of one job must have been asked alike.
std::string sweep_text(const DdpOptions& options) {
  const DdpSweep& sweep = options.sweep;
  const DdpSetup& setup = sweep.base;
  std::vector<double> mb;
  for (const std::int64_t bytes : sweep.bucket_bytes) mb.push_back(static_cast<double>(bytes) / kMebibyte);
  return fmt::format(
      "--model {} --batch-size {} --image-size {} --bucket-size {:g} --ranks {} --backend {} --reducer {} "
      "--threads {} "
      "--seed {} "
      "--iters {} --warmup {}",
      fmt::join(sweep.models, ","), setup.batch_size, setup.image_size, fmt::join(mb, ","),
      sweep.ranks.empty() ? "(all)" : fmt::format("{}", fmt::join(sweep.ranks, ",")), setup.backend,
      setup.reducer, setup.threads, setup.seed, options.limits.iterations, options.limits.warmup);
}

}  // namespace

DdpOptions parse_ddp_options(const Arguments& arguments) {
  DdpOptions options;
  RawDdpOptions raw;
  OptionTable table("Trains models data-parallel over ranks, and tells what that costs and how it scales.",
                    "headroom ddp");
  table.footer(kDdpExamples);
  declare_subject(table, raw, options);
  declare_measuring(table, raw, options);
  declare_output(table, raw, options);
  if ((options.done = parse_arguments(table, arguments))) return options;
  read_bucket_sizes(raw, options.sweep);
  find_ranks(raw, options);
  if (!options.sweep.trace.empty()) options.sweep.trace = std::filesystem::absolute(options.sweep.trace);
  ddp_plan(options.sweep);  // refuses what the world cannot hold, before anything starts
  options.limits.patience = rank_patience(raw.timeout);
  settle_rank_programs(options.start, "ddp");
  if (options.start.runners.size() > 1) throw Error("a sweep of training has one --runner");
  options.start.timeout = options.limits.patience.start;
  options.start.arguments = sweep_text(options);
  options.start.threads = options.sweep.base.threads;
  settle_store(options.store, raw.no_store);
  return options;
}

}  // namespace headroom::cli
