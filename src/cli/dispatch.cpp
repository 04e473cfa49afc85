// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/measuring/measurement.h"
#include "cli/measuring/rank_measurement.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/console/command.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/ranks/dispatch/dispatch.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

/// A sample is a cycle; the goal is for the half-width of the hit's median.
struct DispatchOptions : RankOptions {
  std::vector<std::string> ops;  ///< empty: the default set
  bool update_expect = false;
  DispatchSetup setup;
  std::string expect;  ///< file of expectations, "pytorch" (shipped), or empty
};

constexpr ConstantHelp kDispatchExamples[] = {
    {"headroom dispatch", "twelve operators, 512x512 in S(0) over four ranks started here"},
    {"headroom dispatch --op add --op mm --ranks 2", "two operators, two ranks"},
    {"headroom dispatch --mesh 2x2 --placements S(0),R --shape 1024x256", ""},
    {"headroom dispatch --ranks 1 --op add", "the cost of distribution on a single rank"},
    {"headroom dispatch --op add --expect pytorch", "against the expectations of PyTorch's own test"},
    {"headroom dispatch --expect mine.toml --update-expect",
     "store the measured values as the new expectations"},
    {"mpirun -n 4 headroom dispatch --op add", "ranks started by another launcher; also torchrun and srun"},
};

constexpr const char* kDispatchDetails[] = {
    "Each cycle calls the operator on a plain tensor (the whole, and a rank's part), and on the distributed "
    "tensor with the cache of sharding propagation cleared (miss) and filled (hit). See "
    "docs/reference/dispatch.md.",
};

struct RawDispatchOptions : RawRankOptions {
  std::string mesh, placements, shape;
  int ranks = 0, cycles = 100;
};

void declare_subject(OptionTable& table, RawDispatchOptions& raw, DispatchOptions& options) {
  table.add_option("--op", options.ops, "operator to measure; repeat for more (default: twelve, see --list)")
      .repeated()
      .delimiter(',');
  table.add_flag("--list", options.list, "list the operators, and measure nothing");
  table.add_option("--ranks", raw.ranks, "rank processes to start (default: the size of the mesh, or 4)")
      .range(1, 4096);
  table.add_option("--mesh", raw.mesh, "grid of ranks: 4, 2x2 (default: all in one dimension)");
  table.add_option(
      "--placements", raw.placements,
      "placements of the tensor, one per dimension of the mesh: S(dim), R, P (default: S(0), then R)");
  table.add_option("--shape", raw.shape, "shape of the whole tensor (default 512x512)");
  table.add_option("--dtype", options.setup.dtype, "f32 (default), f64 or bf16")
      .one_of({"f32", "f64", "bf16"});
  table.add_option("--backend", options.backend, "gloo (default), or nccl (one GPU per rank)")
      .one_of({"gloo", "nccl"});
}

void declare_measuring(OptionTable& table, RawDispatchOptions& raw, DispatchOptions& options) {
  table
      .add_option("--cycles", raw.cycles,
                  "minimum cycles before the precision goal can end sampling (default 100)")
      .range(1, 1'000'000);
  table
      .add_option("--repeats", options.setup.repeats,
                  "calls of each kind per cycle; their median is the sample (default 9)")
      .range(1, 100'000);
  table.add_option("--precision", raw.stop.precision,
                   "goal for the half-width of the 95 % interval of the hit (default 1%)");
  table.add_option("--min-time", raw.stop.min_time, "minimum time per operator (default 0.2s)");
  table.add_option("--max-time", raw.stop.max_time,
                   std::string("maximum time per operator (default 3s)") + kRunTimeHelp);
  table.add_flag("--quick", raw.quick, "take a first look: precision 5%, at most 0.5 s per operator");
  declare_ranks(table, raw, options);
}

void declare_output(OptionTable& table, RawDispatchOptions& raw, DispatchOptions& options) {
  table
      .add_option("--expect", options.expect,
                  "TOML file of expected medians; exit 1 if one is exceeded beyond its tolerance ('pytorch' "
                  "is shipped)")
      .completed_by(Completes::kFile);
  table.add_flag("--update-expect", options.update_expect, "write the measured values to that file");
  declare_record_files(table, options.json, options.oss);
  declare_rank_output(table, raw, options);
}

/// From the launcher, --ranks, the mesh, or 4.
void find_ranks(const RawDispatchOptions& raw, DispatchOptions& options) {
  if (!raw.mesh.empty()) {
    const std::vector<std::int64_t> mesh = parse_grid(raw.mesh, "--mesh", 1);
    options.setup.mesh.assign(mesh.begin(), mesh.end());
  }
  const int in_mesh =
      std::accumulate(options.setup.mesh.begin(), options.setup.mesh.end(), 1, std::multiplies<>());
  options.start.place = rank_place();
  options.start.ranks = raw.ranks > 0         ? raw.ranks
                        : options.start.place ? options.start.place->size
                        : raw.mesh.empty()    ? 4
                                              : in_mesh;
  require_launched(options.start.place, options.start.ranks);
  if (raw.mesh.empty()) options.setup.mesh = {options.start.ranks};
}

void fill_setup(const RawDispatchOptions& raw, DispatchOptions& options) {
  DispatchSetup& setup = options.setup;
  if (!raw.shape.empty()) setup.shape = parse_grid(raw.shape, "--shape", 1);
  setup.placements.clear();
  if (raw.placements.empty()) {
    setup.placements.assign(setup.mesh.size(), PlacementText{});
    setup.placements.front() = {PlacementText::Kind::kShard, 0};
  } else {
    for (const std::string& text : split(raw.placements, ','))
      setup.placements.push_back(parse_placement(text));
  }
  require_fit(setup, options.start.ranks);
}

StopRule stop_rule(const RawDispatchOptions& raw) {
  StopRule stop;
  stop.precision = raw.quick ? 0.05 : 0.01;
  stop.min_time_ns = raw.quick ? 0.05e9 : 0.2e9;
  stop.max_time_ns = raw.quick ? 0.5e9 : 3e9;
  stop = override_stop_rule(stop, raw.stop);
  stop.min_samples = static_cast<std::size_t>(raw.cycles);
  stop.max_samples = std::max<std::size_t>(stop.max_samples, stop.min_samples);
  return stop;
}

using Expectations = std::vector<DispatchExpectation>;

Expectations read_expectations(const DispatchOptions& options) {
  if (options.expect.empty()) return {};
  if (options.expect == "pytorch") return pytorch_dispatch_expectations();
  if (options.update_expect) {
    require_writable(options.expect);
    if (!std::filesystem::exists(options.expect)) return {};
  }
  return parse_dispatch_expectations(read_file(options.expect), options.expect);
}

class DispatchMeasurement final : public RankMeasurement {
 public:
  DispatchMeasurement(const Arguments& arguments, const DispatchOptions& options)
      : RankMeasurement("dispatch", arguments, options),
        options_(options),
        expectations_(read_expectations(options)) {}

 private:
  void complete(Environment& environment) const override {
    environment.extra_info["repeats"] = std::to_string(options_.setup.repeats);
    environment.options.expectations = expectations_;
  }
  void list(const RunnerOffer& ranks) const override { operators(ranks).list(); }

  static RankExperiments operators(const RunnerOffer& ranks) { return {ranks, kDispatchPrefix, "operator"}; }

  /// All runners in the same rounds.
  std::vector<Group> groups(const SessionRequest& request, const std::vector<RunnerOffer>& offers) override {
    const RankExperiments known = operators(offers.front());
    known.require(options_.ops);
    std::vector<Group> groups;
    for (const std::string& op : options_.ops.empty() ? known.by_default() : options_.ops) {
      groups.push_back(
          {op, cases_of(kDispatchPrefix + op, axes_of(options_.setup), options_.backend, request, offers)});
    }
    return groups;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const std::string& op : options_.ops) names.push_back(kDispatchPrefix + op);
    return names;
  }

  std::vector<Record> instrument_records(const std::vector<Record>& finished) const override {
    std::vector<Record> records = dispatch_records(finished);
    if (ranks().ranks.empty()) return records;
    const std::string& no_counters = ranks().ranks.front().no_counters;
    if (no_counters.empty()) return records;
    for (Record& record : records) record.model.extra_info[kNoInstructionsKey] = no_counters;
    return records;
  }

  ExitCode verdict() override {
    if (options_.list) return ExitCode::kSuccess;
    if (const ExitCode code = RankMeasurement::verdict(); code != ExitCode::kSuccess) return code;
    if (options_.update_expect) {
      write_file_atomically(options_.expect,
                            dispatch_expectations_toml(updated_expectations(expectations_, records())));
      print_message("expectations written to {}", options_.expect);
      return ExitCode::kSuccess;
    }
    const auto verdicts = judge_expectations(expectations_, records());
    const auto any = [&](ExpectationVerdict::Kind kind) {
      return std::ranges::find(verdicts, kind, &ExpectationVerdict::kind) != verdicts.end();
    };
    if (any(ExpectationVerdict::Kind::kOutside)) return ExitCode::kFailure;
    return any(ExpectationVerdict::Kind::kInconclusive) ? ExitCode::kInconclusive : ExitCode::kSuccess;
  }

  const DispatchOptions& options_;
  Expectations expectations_;
};

}  // namespace

OptionTable dispatch_options(Arguments& arguments) {
  OptionTable table(
      "Measure the overhead of a distributed tensor on operators, with cached and with propagated sharding.",
      "headroom dispatch");
  table.examples(kDispatchExamples);
  table.details(kDispatchDetails);
  auto& options = table.own<DispatchOptions>();
  auto& raw = table.own<RawDispatchOptions>();
  declare_subject(table, raw, options);
  declare_measuring(table, raw, options);
  declare_output(table, raw, options);
  table.finish([&options, &raw, arguments] {
    if (options.update_expect && (options.expect.empty() || options.expect == "pytorch")) {
      throw Error("--update-expect needs --expect FILE, the file to write");
    }
    find_ranks(raw, options);
    fill_setup(raw, options);
    options.stop = stop_rule(raw);
    resolve_ranks(raw, options, "dispatch");
    if (options.start.place && options.start.place->rank > 0) return follow(options.start);
    return DispatchMeasurement(arguments, options).run();
  });
  return table;
}

}  // namespace headroom::cli
