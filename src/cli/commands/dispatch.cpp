// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/dispatch.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/commands/dispatch_options.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/rank_measurement.h"
#include "cli/shared/say.h"
#include "headroom/base/files.h"
#include "headroom/ranks/dispatch/dispatch_expectations.h"
#include "headroom/ranks/dispatch/dispatch_records.h"
#include "headroom/ranks/dispatch/dispatch_table.h"

namespace headroom::cli {
namespace {

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
  StringMap provenance() const override {
    StringMap info{{"repeats", std::to_string(options_.setup.repeats)}};
    if (!expectations_.empty()) info[kExpectationsKey] = dispatch_expectations_toml(expectations_);
    return info;
  }
  void list(const RunnerOffer& ranks) const override { operators(ranks).list(); }

  static RankExperiments operators(const RunnerOffer& ranks) { return {ranks, kDispatchPrefix, "operator"}; }

  /// Each operator by all runners in the same rounds.
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

  std::vector<Record> in_words(const std::vector<Record>& finished) const override {
    std::vector<Record> records = dispatch_records(finished);
    const std::string& no_counters = ranks().ranks.front().no_counters;
    if (no_counters.empty()) return records;
    for (Record& record : records) record.model.extra_info[kNoInstructionsKey] = no_counters;
    return records;
  }
  Sheet sheet() override {
    verdicts_ = judge_expectations(expectations_, records());
    return dispatch_sheet(records(), verdicts_);
  }
  Table rank_table() const override { return dispatch_rank_table(records()); }

  ExitCode verdict() const override {
    if (options_.list) return ExitCode::kFine;
    if (const ExitCode code = RankMeasurement::verdict(); code != ExitCode::kFine) return code;
    if (options_.update_expect) {
      write_file_atomically(options_.expect,
                            dispatch_expectations_toml(updated_expectations(expectations_, records())));
      say("expectations written to {}", options_.expect);
      return ExitCode::kFine;
    }
    const auto any = [&](ExpectationVerdict::Kind kind) {
      return std::ranges::any_of(verdicts_, [&](const ExpectationVerdict& v) { return v.kind == kind; });
    };
    if (any(ExpectationVerdict::Kind::kOutside)) return ExitCode::kNo;
    return any(ExpectationVerdict::Kind::kUnclear) ? ExitCode::kInconclusive : ExitCode::kFine;
  }

  const DispatchOptions& options_;
  Expectations expectations_;
  std::vector<ExpectationVerdict> verdicts_;
};

}  // namespace

ExitCode dispatch(const Arguments& arguments) {
  const DispatchOptions options = parse_dispatch_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  return DispatchMeasurement(arguments, options).run();
}

}  // namespace headroom::cli
