// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "cli/shared/option_table.h"
#include "cli/shared/record_options.h"
#include "cli/shared/stop_options.h"
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

struct RawDdpOptions : RawRankOptions {
  std::vector<double> bucket_mb{25};
  int world = 0, iterations = 10;
};

void declare_subject(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  table
      .add_option("--model", options.sweep.models,
                  "a model; repeat it for more (default resnet18, see --list)")
      .repeated()
      .delimiter(',');
  table.add_flag("--list", options.list, "show the models, and train nothing");
  table.add_option("--batch-size", options.batch_size, "examples of each rank (default 32)")
      .range(1, 1'000'000'000);
  table
      .add_option("--image-size", options.image_size,
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
  table.add_option("--backend", options.backend, "gloo (default) or nccl").one_of({"gloo", "nccl"});
  table
      .add_option("--reducer", options.sweep.reducer,
                  "of gradients: headroom (default), or c10d, libtorch's own")
      .one_of({"headroom", "c10d"});
}

void declare_measuring(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  table
      .add_option("--iters", raw.iterations,
                  "iterations of each rank that count (default 10); with --precision or --max-time the least "
                  "number of them")
      .range(1, 1'000'000);
  table.add_option("--warmup", options.warmup, "iterations before them (default 5)").range(0, 1'000'000);
  table.add_option("--precision", raw.stop.precision,
                   "goal for the half-width of the 95 % interval of an iteration: goes on until it is met");
  table.add_option("--max-time", raw.stop.max_time, "most time of a model's iterations (default 30s)");
  declare_limits(table, raw, options);
  declare_ranks(table, raw, options);
}

void declare_output(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  table.add_no_follow();
  table.add_option("--json", options.report, "the report of PyTorch's DDP benchmark ('-': standard output)")
      .completed_by(Completes::kFile);
  table.add_option("--records", options.json, "all records with all samples ('-': standard output)")
      .completed_by(Completes::kFile);
  table.add_option("--oss", options.oss, "PyTorch OSS benchmark database records, schema v3")
      .completed_by(Completes::kFile);
  table
      .add_option("--trace", options.sweep.trace,
                  "folder for a trace of each rank of the largest steps: headroom trace reads it as one job")
      .completed_by(Completes::kFile);
  declare_rank_output(table, raw, options);
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

/// So many iterations, unless a precision or a time is asked for.
StopRule stop_rule(const RawDdpOptions& raw) {
  StopRule stop = stop_rule_with({}, raw.stop);
  const bool is_open = !raw.stop.precision.empty() || !raw.stop.max_time.empty();
  stop.min_samples = static_cast<std::size_t>(raw.iterations);
  if (is_open) {
    stop.max_samples = std::max(stop.max_samples, stop.min_samples);
  } else {
    stop.max_samples = stop.min_samples;
    stop.max_time_ns = std::numeric_limits<double>::infinity();
  }
  return stop;
}

/// What ranks of one job must have been asked alike.
std::string sweep_text(const RawDdpOptions& raw, const DdpOptions& options) {
  const DdpSweep& sweep = options.sweep;
  std::vector<double> mb;
  for (const std::int64_t bytes : sweep.bucket_bytes) mb.push_back(static_cast<double>(bytes) / kMebibyte);
  return fmt::format(
      "--model {} --batch-size {} --image-size {} --bucket-size {:g} --ranks {} --backend {} --reducer {} "
      "--threads {} "
      "--seed {} "
      "--iters {} --warmup {}",
      fmt::join(sweep.models, ","), options.batch_size, options.image_size, fmt::join(mb, ","),
      sweep.ranks.empty() ? "(all)" : fmt::format("{}", fmt::join(sweep.ranks, ",")), options.backend,
      options.sweep.reducer, options.start.threads, options.seed, raw.iterations, options.warmup);
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
  // Refuses what the world cannot hold, before anything starts.
  ddp_steps(options.sweep, options.sweep.models.front());
  options.stop = stop_rule(raw);
  options.start.arguments = sweep_text(raw, options);
  settle_ranks(raw, options, "ddp");
  return options;
}

}  // namespace headroom::cli
