// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/output.h"
#include "headroom/environment/fingerprint.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/results/shown_records.h"
#include "headroom/schedule/case_records.h"

namespace headroom::cli {
namespace {

double parse_precision(const std::string& text) {
  const double precision = with_context("--precision", [&] { return parse_share(text); });
  if (precision > 0 && precision < 1) return precision;
  throw Error("--precision " + text + " must be above 0 and below 100 %, for example 1%");
}

double time_of(const char* option, const std::string& text) {
  return with_context(option, [&] { return parse_time_ns(text); });
}

/// Default time limit if only a number of samples is given.
constexpr double kDayNs = 24 * 3600e9;

}  // namespace

Environment measuring_environment(const std::string& command, const Arguments& arguments, std::uint64_t seed,
                                  double max_time_ns, std::optional<double> precision) {
  std::vector<std::string> words{"headroom", command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(words);
  environment.extra_info["seed"] = std::to_string(seed);
  if (precision) environment.extra_info["precision"] = fmt::format("{:g}", *precision);
  if (std::isfinite(max_time_ns))
    environment.extra_info["max_time_s"] = fmt::format("{:g}", max_time_ns / 1e9);
  return environment;
}

ExitCode Measurement::run() {
  std::string lost;
  try {
    measure();
  } catch (const RankLost& loss) {
    lost = loss.what();
  } catch (const Interrupted&) {
  }
  if (!records_.empty()) {
    std::ranges::move(totals(), std::back_inserter(records_));
    // Standard output may have records for another program.
    print_view(view(), files_.uses_stdout() ? stderr : stdout, markdown_);
    print_extras();
    store_results(records_, store_, journal_, [this] { files_.finish(records_); });
  }
  if (!lost.empty()) throw Error(lost);
  if (!was_interrupted()) return verdict();
  if (!records_.empty()) return report_interrupted();
  print_message("interrupted before anything was measured");
  return ExitCode::kInterrupted;
}

View Measurement::view() const {
  return shown_records(records_);
}

ExitCode Measurement::verdict() {
  if (any_outcome(records_, Outcome::Kind::kFailed)) return ExitCode::kFailure;
  return std::ranges::any_of(records_, is_unreached) ? ExitCode::kInconclusive : ExitCode::kSuccess;
}

void Measurement::add(const std::vector<Record>& finished) {
  journal_.finish_group(finished);
  records_.insert(records_.end(), finished.begin(), finished.end());
  try_write([this] { files_.write_partial(records_); });
}

void Measurement::take(const FinishedGroup& group) {
  journal_.take_group(group.title, group.records);
  records_.insert(records_.end(), group.records.begin(), group.records.end());
}

void Measurement::replace(std::vector<Record> records) {
  records_ = std::move(records);
  journal_.replace(records_);
  try_write([this] { files_.write_partial(records_); });
}

StopRule override_stop_rule(StopRule rule, const StopOptions& given) {
  if (!given.precision.empty()) rule.precision = parse_precision(given.precision);
  if (!given.min_time.empty()) rule.min_time_ns = time_of("--min-time", given.min_time);
  if (!given.max_time.empty()) rule.max_time_ns = time_of("--max-time", given.max_time);
  if (rule.max_time_ns <= 0) throw Error("--max-time must be above 0, for example 5s");
  if (!given.min_time.empty() && !given.max_time.empty() && rule.min_time_ns > rule.max_time_ns) {
    throw Error("--min-time " + given.min_time + " exceeds --max-time " + given.max_time);
  }
  if (given.num_samples > 0) {
    rule.min_samples = rule.max_samples = given.num_samples;
    rule.min_time_ns = 0;
    if (given.max_time.empty()) rule.max_time_ns = kDayNs;
  }
  rule.min_time_ns = std::min(rule.min_time_ns, rule.max_time_ns);
  return rule;
}

double run_time_ns(const StopOptions& given) {
  const double given_ns = given.max_time.empty() ? 0 : time_of("--max-time", given.max_time);
  return given_ns < kMinRunTimeNs ? std::numeric_limits<double>::infinity() : given_ns;
}

std::string not_reached_text(double run_time_ns) {
  return "not reached within --max-time " + format_time_ns(run_time_ns);
}

}  // namespace headroom::cli
