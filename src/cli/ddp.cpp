// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/measuring/measurement.h"
#include "cli/measuring/rank_measurement.h"
#include "cli/measuring/runners.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/command.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/process/affinity.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/ddp/ddp.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

/// A sample is a call, timed by the slowest rank.
struct CollectivesOptions : RankOptions {
  std::vector<std::string> ops;     ///< in order of measurement
  std::vector<std::int64_t> sizes;  ///< bytes
  std::vector<int> ranks;           ///< counts; measured in the same rounds
  std::string dtype = "f32";
};

constexpr ConstantHelp kCollectivesExamples[] = {
    {"headroom ddp --collectives", "five collectives, 1 KiB to 16 MiB, one rank per CPU"},
    {"headroom ddp --collectives=all_reduce --ranks 2,4 --min-bytes 4 --max-bytes 64M --factor 4", ""},
    {"headroom ddp --collectives --quick --per-rank", "a first look, with the median of each rank"},
    {"mpirun -n 4 headroom ddp --collectives", "ranks started by another launcher; also torchrun and srun"},
};

constexpr const char* kCollectivesDetails[] = {
    "Every call starts at a barrier, with new data; results are checked at every size. Sizes are as in "
    "nccl-tests: the output of a rank for all_gather, the input of a rank for the others. See "
    "docs/reference/collectives.md.",
};

constexpr int kDefaultMaxRanks = 8;
/// A factor close to 1 gives no other bound.
constexpr std::size_t kMaxSizes = 200;

struct RawCollectivesOptions : RawRankOptions {
  std::string ops;
  std::vector<int> ranks;
  std::string min_bytes = "1K", max_bytes = "16M";
  double factor = 4;
  int calls = 30;
};

void declare_subject(OptionTable& table, RawCollectivesOptions& raw, CollectivesOptions& options) {
  table
      .add_option(
          "--collectives", raw.ops,
          "collectives to measure (default: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all)")
      .expected(0, 1);
  table.add_option("--min-bytes", raw.min_bytes, "smallest size (default 1K)");
  table.add_option("--max-bytes", raw.max_bytes, "largest size (default 16M)");
  table.add_option("--factor", raw.factor, "factor from a size to the next (default 4)");
  table.add_option("--ranks", raw.ranks, "rank counts to sweep (default: one rank per CPU, at least 2)")
      .repeated()
      .delimiter(',')
      .range(1, 4096);
  table.add_option("--dtype", options.dtype, "f32 (default), f64, f16, i32 or i64")
      .one_of({"f32", "f64", "f16", "i32", "i64"});
}

void declare_measuring(OptionTable& table, RawCollectivesOptions& raw, CollectivesOptions& options) {
  table
      .add_option("--iters", raw.calls,
                  "minimum calls before the precision goal can end sampling (default 30)")
      .range(1, 1'000'000);
  table.add_option("--precision", raw.stop.precision,
                   "goal for the half-width of the 95 % interval of the median (default 2%)");
  table.add_option("--min-time", raw.stop.min_time, "minimum time per collective and size (default 0.1s)");
  table.add_option("--max-time", raw.stop.max_time,
                   std::string("maximum time per collective and size (default 2s)") + kRunTimeHelp);
  table.add_flag("--quick", raw.quick,
                 "take a first look: precision 10%, at most 0.3 s per collective and size");
  declare_limits(table, options);
  declare_ranks(table, raw, options);
}

std::vector<std::int64_t> sizes_of(const RawCollectivesOptions& raw) {
  const std::int64_t least = parse_bytes(raw.min_bytes), most = parse_bytes(raw.max_bytes);
  if (least < 1 || most < least) {
    throw Error(fmt::format("--min-bytes {} --max-bytes {}: sizes must be above 0, the smaller first",
                            raw.min_bytes, raw.max_bytes));
  }
  if (!(raw.factor > 1)) {
    throw Error(fmt::format("--factor {:g} must be above 1, for example 2", raw.factor));
  }
  std::vector<std::int64_t> sizes;
  for (auto size = static_cast<double>(least); size <= static_cast<double>(most); size *= raw.factor) {
    const auto bytes = static_cast<std::int64_t>(size);
    if (sizes.empty() || bytes != sizes.back()) sizes.push_back(bytes);
    if (sizes.size() > kMaxSizes) {
      throw Error(fmt::format("--factor {:g} from {} to {} gives more than {} sizes; give a larger factor",
                              raw.factor, raw.min_bytes, raw.max_bytes, kMaxSizes));
    }
  }
  return sizes;
}

std::vector<std::string> ops_of(const RawCollectivesOptions& raw) {
  const std::vector<std::string> all(std::begin(kCollectives), std::end(kCollectives));
  std::vector<std::string> ops;
  for (const std::string& part : split(raw.ops, ',')) {
    std::string op(trimmed(part));
    if (op.empty()) continue;
    std::ranges::replace(op, '-', '_');
    if (std::ranges::find(all, op) == all.end()) {
      throw Error("unknown collective " + quote(op) + did_you_mean(op, all) + "; the collectives are " +
                  join(all, ", "));
    }
    ops.push_back(op);
  }
  return ops.empty() ? all : ops;
}

/// Throws Error below 2 or above the available ranks.
std::vector<int> rank_counts(const RawCollectivesOptions& raw, CollectivesOptions& options) {
  RankStart& start = options.start;
  start.place = rank_place();
  const int here = std::clamp(static_cast<int>(allowed_cpus().size()), 2, kDefaultMaxRanks);
  std::vector<int> counts = raw.ranks;
  if (counts.empty()) counts = {start.place ? start.place->size : here};
  start.ranks = start.place ? start.place->size : std::ranges::max(counts);
  for (const int count : counts) {
    if (count < 2) {
      throw Error(fmt::format("collectives of {} rank need a second one: give --ranks 2 or more", count));
    }
    if (count > start.ranks) {
      throw Error(fmt::format("--ranks {}, but {} started only {}: leave out --ranks, or start more", count,
                              start.place->launcher, start.ranks));
    }
  }
  return counts;
}

StopRule stop_rule(const RawCollectivesOptions& raw) {
  StopRule stop;
  stop.precision = raw.quick ? 0.1 : 0.02;
  stop.min_time_ns = raw.quick ? 0.02e9 : 0.1e9;
  stop.max_time_ns = raw.quick ? 0.3e9 : 2e9;
  stop = override_stop_rule(stop, raw.stop);
  stop.min_samples = static_cast<std::size_t>(raw.calls);
  stop.max_samples = std::max<std::size_t>(stop.max_samples, stop.min_samples);
  return stop;
}

/// Must be equal for all ranks of a job.
std::string plan_text(const RawCollectivesOptions& raw, const CollectivesOptions& options) {
  std::vector<std::string> ranks;
  for (const int count : raw.ranks) ranks.push_back(std::to_string(count));
  return fmt::format(
      "--collectives={} --min-bytes {} --max-bytes {} --factor {:g} --ranks {} --dtype {} --seed {}",
      join(options.ops, ","), raw.min_bytes, raw.max_bytes, raw.factor,
      ranks.empty() ? "(all)" : join(ranks, ","), options.dtype, options.seed);
}

class CollectivesMeasurement final : public RankMeasurement {
 public:
  CollectivesMeasurement(const Arguments& arguments, const CollectivesOptions& options)
      : RankMeasurement("ddp", arguments, options), options_(options) {}

 private:
  std::vector<Group> groups(const SessionRequest& request, const std::vector<RunnerOffer>& offers) override {
    std::vector<Group> groups;
    for (const std::string& op : options_.ops) {
      for (const std::int64_t size : options_.sizes)
        groups.push_back(collective_group(op, size, options_.dtype, options_.ranks, request, offers));
    }
    return groups;
  }
  std::vector<std::string> names() const override { return options_.ops; }
  std::vector<Record> instrument_records(const std::vector<Record>& finished) const override {
    return collective_records(finished);
  }
  std::vector<Record> totals() const override { return collective_lines(records()); }

  const CollectivesOptions& options_;
};

bool has_collectives_option(const Arguments& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument == "--collectives" || argument.starts_with("--collectives=");
  });
}

OptionTable collectives_options(const Arguments& arguments) {
  OptionTable table("Measure collectives over a sweep of sizes, on the ranks of a data-parallel job.",
                    "headroom ddp --collectives");
  table.examples(kCollectivesExamples);
  table.details(kCollectivesDetails);
  auto& options = table.own<CollectivesOptions>();
  auto& raw = table.own<RawCollectivesOptions>();
  declare_subject(table, raw, options);
  declare_measuring(table, raw, options);
  declare_record_files(table, options.json, options.oss);
  declare_rank_output(table, raw, options);
  table.finish([&options, &raw, arguments] {
    options.ranks = rank_counts(raw, options);
    options.ops = ops_of(raw);
    options.sizes = sizes_of(raw);
    options.stop = stop_rule(raw);
    options.start.arguments = plan_text(raw, options);
    resolve_ranks(raw, options, "ddp");
    if (options.start.place && options.start.place->rank > 0) return follow(options.start);
    return CollectivesMeasurement(arguments, options).run();
  });
  return table;
}

/// A sample is a round of two iterations.
struct DdpOptions : RankOptions {
  DdpSweep sweep;
  std::int64_t batch_size = 32;  ///< of each rank
  std::int64_t image_size = 64;  ///< pixels a side
  int warmup = 5;                ///< discarded iterations of each step
  std::string report;            ///< file of PyTorch's benchmark ("-": standard output), or empty
};

constexpr ConstantHelp kDdpExamples[] = {
    {"headroom ddp", "resnet18 over PyTorch's rank counts, up to one rank per CPU"},
    {"headroom ddp --ranks 1,2,4 --report report.json",
     "these rank counts, and the report that PyTorch's diff.py reads"},
    {"headroom ddp --model resnet50,resnet101,resnext50_32x4d,resnext101_32x8d --image-size 224",
     "the models of PyTorch's benchmark; slow on a small machine"},
    {"headroom ddp --model mlp --bucket-size 1,5,25", "the effect of the bucket size with large gradients"},
    {"headroom diff --format ddp before.json after.json", ""},
    {"mpirun -n 4 headroom ddp", "ranks started by another launcher; also torchrun and srun"},
};

constexpr ForeignOption kOlderDdpOptions[] = {{"--records", true, "--json {}"}};

constexpr const char* kDdpDetails[] = {
    "Each round has an iteration with gradient reduction and one without; their difference is the exposed "
    "communication, which the backward pass could not hide. See docs/reference/ddp.md.",
};

constexpr int kDefaultMaxDdpRanks = 8;
constexpr double kMebibyte = 1 << 20;

struct RawDdpOptions : RawRankOptions {
  std::vector<double> bucket_mb{25};
  int world = 0, iterations = 10;
};

void declare_subject(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  table
      .add_option("--model", options.sweep.models,
                  "model to train; repeat for more (default resnet18, see --list)")
      .repeated()
      .delimiter(',');
  table.add_flag("--list", options.list, "list the models, and train nothing");
  table.add_option("--batch-size", options.batch_size, "examples per rank (default 32)")
      .range(1, 1'000'000'000);
  table
      .add_option("--image-size", options.image_size,
                  "side of an image in pixels (default 64; PyTorch's benchmark has 224)")
      .range(1, 1'000'000);
  table.add_option("--bucket-size", raw.bucket_mb, "bucket size in MB of gradients, or several (default 25)")
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
                  "ranks to start (default: the largest of --ranks, or one per CPU, at most 8)")
      .range(1, 4096);
  table.add_option("--backend", options.backend, "gloo (default) or nccl").one_of({"gloo", "nccl"});
  table
      .add_option("--reducer", options.sweep.reducer,
                  "reducer of gradients: headroom (default), or c10d, libtorch's own")
      .one_of({"headroom", "c10d"});
}

void declare_measuring(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  table
      .add_option(
          "--iters", raw.iterations,
          "measured iterations of each rank (default 10); their minimum with --precision or --max-time")
      .range(1, 1'000'000);
  table.add_option("--warmup", options.warmup, "warm-up iterations (default 5)").range(0, 1'000'000);
  table.add_option("--precision", raw.stop.precision,
                   "goal for the half-width of the 95 % interval of an iteration (default: none)");
  table.add_option("--max-time", raw.stop.max_time,
                   std::string("maximum time for the iterations of a model (default 30s)") + kRunTimeHelp);
  declare_limits(table, options);
  declare_ranks(table, raw, options);
}

void declare_output(OptionTable& table, RawDdpOptions& raw, DdpOptions& options) {
  declare_record_files(table, options.json, options.oss);
  table
      .add_option("--report", options.report,
                  "write the report of PyTorch's DDP benchmark ('-': standard output)")
      .completed_by(Completes::kFile);
  table.foreign(kOlderDdpOptions);
  table
      .add_option("--trace", options.sweep.trace,
                  "folder for a trace of each rank of the largest steps; headroom trace reads it as one job")
      .completed_by(Completes::kFile);
  declare_rank_output(table, raw, options);
}

/// From the launcher, --world, the maximum of --ranks, or the CPUs.
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
    start.ranks = std::clamp(static_cast<int>(allowed_cpus().size()), 1, kDefaultMaxDdpRanks);
  }
  options.sweep.world = start.ranks;
}

void read_bucket_sizes(const RawDdpOptions& raw, DdpSweep& sweep) {
  sweep.bucket_bytes.clear();
  for (const double mb : raw.bucket_mb) {
    if (!(mb > 0) || mb > 1e6) {
      throw Error(
          fmt::format("--bucket-size {:g} must be above 0, in MB of gradients, for example 25 or 0.5", mb));
    }
    sweep.bucket_bytes.push_back(std::max<std::int64_t>(4, static_cast<std::int64_t>(mb * kMebibyte)));
  }
}

/// Fixed iterations, unless a precision or a time is given.
StopRule stop_rule(const RawDdpOptions& raw) {
  StopRule stop = override_stop_rule({}, raw.stop);
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

/// Must be equal for all ranks of a job.
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

/// Sizes of all-reduces timed alone, besides the bucket sizes.
constexpr std::int64_t kReducedBytes[] = {4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr std::int64_t kMaxReducedBytes = 64 << 20;
constexpr std::size_t kReductions = 12;

class DdpMeasurement final : public RankMeasurement {
 public:
  DdpMeasurement(const Arguments& arguments, const DdpOptions& options)
      : RankMeasurement("ddp", arguments, options), options_(options) {
    files().add("--report", options.report,
                [this](const std::string& path, const std::vector<Record>& records) {
                  const std::vector<RankHello>& hellos = ranks().ranks;
                  const std::string version = hellos.empty() ? "" : hellos.front().library.version;
                  write_file_atomically(path, ddp_seed_report(records, version, options_.backend));
                });
  }

 private:
  void complete(Environment& environment) const override {
    environment.extra_info["warmup"] = std::to_string(options_.warmup);
  }
  void adjust(SessionRequest& request) const override {
    request.warmup = static_cast<std::uint32_t>(options_.warmup);
    if (options_.limits) request.limit_runners = limit_runners_of(options_.start.runners);
  }
  void list(const RunnerOffer& ranks) const override { models(ranks).list(); }

  static RankExperiments models(const RunnerOffer& ranks) { return {ranks, kDdpPrefix, "model"}; }

  /// A model's steps share rounds: ratios are to the step without DDP, or to the first runner.
  std::vector<Group> groups(const SessionRequest& request, const std::vector<RunnerOffer>& offers) override {
    models(offers.front()).require(options_.sweep.models);
    std::vector<Group> groups;
    std::vector<int> reducing;
    for (const std::string& model : options_.sweep.models) {
      Group& group = groups.emplace_back(Group{model, {}});
      for (const DdpStep& step : ddp_steps(options_.sweep, model)) {
        const std::size_t first = group.cases.size();
        std::ranges::move(cases_of_step(step, model, request, offers), std::back_inserter(group.cases));
        for (std::size_t i = first + 1; i < group.cases.size(); ++i) group.cases[i].baseline = first;
        if (step.ranks > 1 && std::ranges::find(reducing, step.ranks) == reducing.end())
          reducing.push_back(step.ranks);
      }
    }
    if (reducing.empty() || options_.backend != "gloo") return groups;
    std::set<std::int64_t> sizes(std::begin(kReducedBytes), std::end(kReducedBytes));
    for (const std::int64_t bytes : options_.sweep.bucket_bytes)
      sizes.insert(std::min(bytes, kMaxReducedBytes) / 4 * 4);
    for (const std::int64_t size : sizes) {
      groups.push_back(collective_group("all_reduce", size, "f32", reducing, request, offers));
      groups.back().stop = options_.stop;
      groups.back().stop->min_samples = groups.back().stop->max_samples = kReductions;
    }
    return groups;
  }

  std::vector<PlannedCase> cases_of_step(const DdpStep& step, const std::string& model,
                                         const SessionRequest& request,
                                         const std::vector<RunnerOffer>& offers) const {
    const std::string name = kDdpPrefix + model;
    AxisTexts point{{"batch_size", std::to_string(options_.batch_size)},
                    {"ranks", std::to_string(step.ranks)},
                    {"ddp", step.ddp ? "yes" : "no"},
                    {"bucket_size", std::to_string(step.bucket_bytes)},
                    {"transport", options_.backend}};
    const auto& all = offers.front().experiments;
    const auto experiment = std::ranges::find(all, name, &ExperimentDescription::name);
    if (std::ranges::find(experiment->axes, "image_size", &Axis::name) != experiment->axes.end())
      point.emplace_back("image_size", std::to_string(options_.image_size));
    std::vector<PlannedCase> cases = cases_of(name, point, options_.sweep.reducer, request, offers);
    for (PlannedCase& one : cases) {
      one.trace = step.trace;
      if (!step.trace.empty() && offers.size() > 1) one.trace += fmt::format("/runner-{}", one.runner);
    }
    return cases;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const std::string& model : options_.sweep.models) names.push_back(kDdpPrefix + model);
    return names;
  }
  std::vector<Record> instrument_records(const std::vector<Record>& finished) const override {
    const bool trains = !finished.empty() && finished.front().model.name.starts_with(kDdpPrefix);
    if (!trains) return collective_records(finished);
    return ddp_records(finished, ddp_steps(options_.sweep, options_.sweep.models.front()));
  }
  std::vector<Record> totals() const override { return collective_lines(records()); }
  void print_extras() override {
    if (options_.sweep.trace.empty()) return;
    print_message("traces are in {}; headroom trace FOLDER reads a folder as one job", options_.sweep.trace);
  }

  ExitCode verdict() override {
    if (const ExitCode code = RankMeasurement::verdict(); code != ExitCode::kSuccess) return code;
    // The user can fix skipped cases.
    return any_outcome(records(), Outcome::Kind::kSkipped) ? ExitCode::kError : ExitCode::kSuccess;
  }

  const DdpOptions& options_;
};

}  // namespace

OptionTable ddp_options(Arguments& arguments) {
  if (has_collectives_option(arguments)) return collectives_options(arguments);
  OptionTable table("Measure data-parallel training over ranks: scaling, and the cost of communication.",
                    "headroom ddp");
  table.examples(kDdpExamples);
  table.details(kDdpDetails);
  auto& options = table.own<DdpOptions>();
  auto& raw = table.own<RawDdpOptions>();
  declare_subject(table, raw, options);
  declare_measuring(table, raw, options);
  declare_output(table, raw, options);
  table.finish([&options, &raw, arguments] {
    read_bucket_sizes(raw, options.sweep);
    find_ranks(raw, options);
    if (!options.sweep.trace.empty()) options.sweep.trace = std::filesystem::absolute(options.sweep.trace);
    // Throws early if the world is too small.
    ddp_steps(options.sweep, options.sweep.models.front());
    options.stop = stop_rule(raw);
    options.start.arguments = sweep_text(raw, options);
    resolve_ranks(raw, options, "ddp");
    if (options.start.place && options.start.place->rank > 0) return follow(options.start);
    return DdpMeasurement(arguments, options).run();
  });
  return table;
}

std::vector<CommandWord> ddp_words() {
  return {{"--collectives", "measure collectives alone, by size and rank count"}};
}

}  // namespace headroom::cli
