// SPDX-License-Identifier: Apache-2.0
#include "cli/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/commands.h"
#include "cli/measuring/rank_measurement.h"
#include "cli/measuring/stop_options.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/option_table.h"
#include "headroom/process/affinity.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

constexpr const char* kCollectivesExamples = R"(examples:
  headroom ddp --collectives                     five collectives, 1 KiB to 16 MiB, on a rank for each CPU
  headroom ddp --collectives=all_reduce --ranks 2,4 --min-bytes 4 --max-bytes 64M --factor 4
  headroom ddp --collectives --quick --per-rank  a first look, with the median of each rank
  mpirun -n 4 headroom ddp --collectives         ranks that another launcher started; also torchrun and srun

Every call starts at a barrier and has new data, which are checked at every size. Sizes are those of nccl-tests: what
every rank ends with for all_gather, begins with for the others. docs/collectives.md tells more.
)";

constexpr int kMostByDefault = 8;
/// Of sizes in one sweep; a factor that is close to 1 would ask for any number.
constexpr std::size_t kMostSizes = 200;

struct RawCollectivesOptions : RawRankOptions {
  std::string ops;
  std::vector<int> ranks;
  std::string min_bytes = "1K", max_bytes = "16M";
  double factor = 4;
  int calls = 30;
};

void declare_subject(OptionTable& table, RawCollectivesOptions& raw, CollectivesOptions& options) {
  table
      .add_option("--collectives", raw.ops,
                  "which (default: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all)")
      .expected(0, 1);
  table.add_option("--min-bytes", raw.min_bytes, "the least size (default 1K)");
  table.add_option("--max-bytes", raw.max_bytes, "the largest size (default 16M)");
  table.add_option("--factor", raw.factor, "from a size to the next (default 4)");
  table.add_option("--ranks", raw.ranks, "rank counts to sweep (default: one for each CPU, at least 2)")
      .repeated()
      .delimiter(',')
      .range(1, 4096);
  table.add_option("--dtype", options.dtype, "f32 (default), f64, f16, i32 or i64")
      .one_of({"f32", "f64", "f16", "i32", "i64"});
}

void declare_measuring(OptionTable& table, RawCollectivesOptions& raw, CollectivesOptions& options) {
  table.add_option("--iters", raw.calls, "least number of calls before the precision may end it (default 30)")
      .range(1, 1'000'000);
  table.add_option("--precision", raw.stop.precision,
                   "goal for the half-width of the 95 % interval of the median (default 2%)");
  table.add_option("--min-time", raw.stop.min_time, "least time of a collective of a size (default 0.1s)");
  table.add_option("--max-time", raw.stop.max_time, "most time of a collective of a size (default 2s)");
  table.add_flag("--quick", raw.quick, "a first look: precision 10%, at most 0.3 s each");
  declare_limits(table, raw, options);
  declare_ranks(table, raw, options);
}

std::vector<std::int64_t> sizes_of(const RawCollectivesOptions& raw) {
  const std::int64_t least = parse_bytes(raw.min_bytes), most = parse_bytes(raw.max_bytes);
  if (least < 1 || most < least) {
    throw Error(fmt::format("--min-bytes {} --max-bytes {}: give sizes above 0, the least first",
                            raw.min_bytes, raw.max_bytes));
  }
  if (!(raw.factor > 1)) {
    throw Error(fmt::format("--factor {:g}: give a number above 1, for example 2", raw.factor));
  }
  std::vector<std::int64_t> sizes;
  for (auto size = static_cast<double>(least); size <= static_cast<double>(most); size *= raw.factor) {
    const auto bytes = static_cast<std::int64_t>(size);
    if (sizes.empty() || bytes != sizes.back()) sizes.push_back(bytes);
    if (sizes.size() > kMostSizes) {
      throw Error(fmt::format("--factor {:g} from {} to {}: more than {} sizes; give a larger factor",
                              raw.factor, raw.min_bytes, raw.max_bytes, kMostSizes));
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
      throw Error("no collective " + in_quotes(op) + did_you_mean(op, all) + "; there are " +
                  join(all, ", "));
    }
    ops.push_back(op);
  }
  return ops.empty() ? all : ops;
}

/// The rank counts, each of which needs somebody to talk to.
std::vector<int> rank_counts(const RawCollectivesOptions& raw, CollectivesOptions& options) {
  RankStart& start = options.start;
  start.place = rank_place();
  const int here = std::clamp(static_cast<int>(allowed_cpus().size()), 2, kMostByDefault);
  std::vector<int> counts = raw.ranks;
  if (counts.empty()) counts = {start.place ? start.place->size : here};
  start.ranks = start.place ? start.place->size : std::ranges::max(counts);
  for (const int count : counts) {
    if (count < 2) {
      throw Error(fmt::format("collectives of {} rank: nobody to talk to; give --ranks 2 or more", count));
    }
    if (count > start.ranks) {
      throw Error(fmt::format("--ranks {}, but {} started {}: leave --ranks out, or start more", count,
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
  stop = stop_rule_with(stop, raw.stop);
  stop.min_samples = static_cast<std::size_t>(raw.calls);
  stop.max_samples = std::max<std::size_t>(stop.max_samples, stop.min_samples);
  return stop;
}

/// What ranks of one job must have been asked alike.
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
  std::vector<Record> in_words(const std::vector<Record>& finished) const override {
    return collective_records(finished);
  }
  std::vector<Record> of_all() const override { return collective_lines(records()); }
  Sheet sheet() override { return collectives_sheet(records()); }
  Table rank_table() const override { return collectives_rank_table(records()); }

  const CollectivesOptions& options_;
};

}  // namespace

bool asks_for_collectives(const Arguments& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument == "--collectives" || argument.starts_with("--collectives=");
  });
}

CollectivesOptions parse_collectives_options(const Arguments& arguments) {
  CollectivesOptions options;
  RawCollectivesOptions raw;
  OptionTable table("Measures collectives over a sweep of sizes, on the ranks of a data-parallel job.",
                    "headroom ddp --collectives");
  table.footer(kCollectivesExamples);
  declare_subject(table, raw, options);
  declare_measuring(table, raw, options);
  declare_record_files(table, options.json, options.oss);
  declare_rank_output(table, raw, options);
  if ((options.done = parse_arguments(table, arguments))) return options;
  options.ranks = rank_counts(raw, options);
  options.ops = ops_of(raw);
  options.sizes = sizes_of(raw);
  options.stop = stop_rule(raw);
  options.start.arguments = plan_text(raw, options);
  settle_ranks(raw, options, "ddp");
  return options;
}

ExitCode collectives(const Arguments& arguments) {
  const CollectivesOptions options = parse_collectives_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  return CollectivesMeasurement(arguments, options).run();
}

}  // namespace headroom::cli
