// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/stop_options.h"

#include <algorithm>
#include <limits>

#include "headroom/base/error.h"
#include "headroom/base/units.h"

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
