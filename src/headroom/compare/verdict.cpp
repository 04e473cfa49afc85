// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/compared_ratio.h"
#include "headroom/files/toml_document.h"
#include "headroom/record/metrics.h"
#include "headroom/stats/compare.h"

namespace headroom {
namespace {

constexpr const char* kUnknownDirection =
    "the better direction is unknown (give --higher-is-better NAME or --lower-is-better NAME)";
const std::vector<std::string> kCaseKeys{"name", "metric", "margin"};

double require_share(double share, std::string_view text) {
  if (!(share >= 0 && share < 1)) {
    throw Error(fmt::format("invalid margin {}: give a share from 0 to below 100 %, for example 3% or 0.03",
                            quote(text)));
  }
  return share;
}

double margin_at(const toml::node& node, const std::string& source) {
  try {
    if (node.is_string()) return parse_margin(node.as_string()->get());
    if (node.is_number())
      return require_share(*node.value<double>(), fmt::format("{}", *node.value<double>()));
  } catch (const Error& error) {
    refuse_at(node.source(), source, error.what());
  }
  refuse_at(node.source(), source, "invalid margin: give a share, for example \"3%\" or 0.03");
}

MarginRule rule_of(const TomlTable& table) {
  table.only(kCaseKeys, "the keys of a case are");
  table.require("margin");
  return {table.text("name", "*"), table.text("metric", "*"),
          margin_at(*table.table().get("margin"), table.source())};
}

bool has_samples(const Comparison& comparison) {
  return comparison.estimator != Estimator::kNone;
}

Verdict claim_of(const Comparison& comparison, const RatioEstimate& ratio) {
  const RatioEstimate worse = worsening(ratio, comparison.direction);
  const bool directed = comparison.direction != Direction::kUnknown;
  const double margin = std::max(comparison.margin, kRounding);
  if (worse.interval->low > 1 + margin) return directed ? Verdict::kRegression : Verdict::kChanged;
  if (worse.interval->high < 1 - margin) return directed ? Verdict::kImprovement : Verdict::kChanged;
  const bool inside = worse.interval->low >= 1 - margin && worse.interval->high <= 1 + margin;
  return inside ? Verdict::kSame : Verdict::kInconclusive;
}

bool disagree(const RatioEstimate& a, const RatioEstimate& b) {
  return (a.interval->low > 1 && b.interval->high < 1) || (a.interval->high < 1 && b.interval->low > 1);
}

Verdict claim_of(const Comparison& comparison, const RatioEstimate& ratio,
                 const std::optional<RatioEstimate>& shares) {
  const Verdict by_ratio = claim_of(comparison, ratio);
  if (!comparison.modes) return by_ratio;
  if (!shares) return is_change(by_ratio) ? by_ratio : Verdict::kInconclusive;
  const Verdict by_shares = claim_of(comparison, *shares);
  if (disagree(ratio, *shares) && (is_change(by_ratio) || is_change(by_shares))) {
    // Only a ratio taken mode by mode excludes the effect of the shares.
    if (comparison.estimator != Estimator::kModes) return Verdict::kInconclusive;
    const Verdict both =
        claim_of(comparison, weighted_product(std::array{ratio, *shares}, std::array{1.0, 1.0}));
    return is_change(both) ? both : Verdict::kInconclusive;
  }
  if (is_change(by_ratio)) return by_ratio;
  if (is_change(by_shares)) return by_shares;
  return by_ratio == by_shares && all_bounded(*comparison.modes) ? by_ratio : Verdict::kInconclusive;
}

/// Many short series estimate the correlation better than one. A mean within its standard error is reduced.
double shared_correlation(std::span<const Comparison* const> suite) {
  double sum = 0;
  double samples = 0;
  for (const Comparison* comparison : suite) {
    const auto weight = static_cast<double>(comparison->samples);
    sum += weight * comparison->neighbour_correlation;
    samples += weight;
  }
  if (sum <= 0) return 0;
  const double mean = sum / samples;
  return mean * std::min(1.0, mean * std::sqrt(samples));
}

bool holds_at(const Comparison& comparison, const ComparedRatio& ratio, Verdict claim, double p) {
  const double confidence = 1 - 2 * p;
  const RatioEstimate at = ratio.at(confidence);
  return at.interval && claim_of(comparison, at, ratio.share_effect(confidence)) == claim;
}

double test_count(const Comparison& comparison) {
  return comparison.modes && comparison.modes->share_effect ? 2 : 1;
}

/// Returns the smallest p, to within 2 %. The claim may fail at .025 if the suite's correlation exceeds its
/// own.
double p_value_of(const Comparison& comparison, Verdict claim, double correlation) {
  constexpr double kSmallest = 1e-9, kLargest = 0.025;
  ComparedRatio ratio(*comparison.baseline, *comparison.test, comparison.test_factor, comparison.known);
  ratio.expect_correlation(correlation);
  if (holds_at(comparison, ratio, claim, kSmallest)) return kSmallest;
  if (!holds_at(comparison, ratio, claim, kLargest)) return 1;
  double holds = std::log(kLargest);
  double fails = std::log(kSmallest);
  while (holds - fails > 0.02) {
    const double middle = 0.5 * (holds + fails);
    (holds_at(comparison, ratio, claim, std::exp(middle)) ? holds : fails) = middle;
  }
  return std::exp(holds);
}

std::vector<double> adjusted(const std::vector<double>& p_values, Multiplicity multiplicity) {
  return multiplicity == Multiplicity::kHolm ? holm_adjusted(p_values)
                                             : benjamini_hochberg_adjusted(p_values);
}

void correct(std::span<Comparison* const> suite, Verdict claim, double correlation, const JudgeRule& rule) {
  std::vector<double> p_values;
  for (const Comparison* comparison : suite) {
    const double p = comparison->verdict == claim
                         ? test_count(*comparison) * p_value_of(*comparison, claim, correlation)
                         : 1;
    p_values.push_back(std::min(1.0, p));
  }
  const std::vector<double> corrected = adjusted(p_values, rule.multiplicity);
  for (std::size_t i = 0; i < suite.size(); ++i) {
    if (suite[i]->verdict != claim) continue;
    suite[i]->p_value = corrected[i];
    if (corrected[i] > rule.alpha) suite[i]->verdict = Verdict::kInconclusive;
  }
}

std::optional<RoundRatio> ratio_of_rounds(const RoundComparison& one) {
  if (one.comparison.estimator != Estimator::kPaired) return std::nullopt;
  const Record &test = *one.comparison.test, &baseline = *one.comparison.baseline;
  const auto pairs = paired_series(test, baseline, one.comparison.test_factor);
  if (!pairs) return std::nullopt;
  return RoundRatio::of(pairs->a, pairs->b, one.look);
}

/// p-values are one-sided, for lying beyond 1 and beyond the margin, divided by the level of the look.
struct Judged {
  Comparison* comparison;
  double tail;
  double apart, beyond;
};

double adjustable(double p_value, double tail) {
  return std::min(1.0, p_value / tail * kLastTail);
}

Judged judged_of(RoundComparison& one, const RoundRatio& ratio, double margin) {
  one.comparison.ratio = ratio.estimate();
  one.comparison.margin = margin;
  one.comparison.p_value.reset();
  const bool above = one.comparison.ratio->ratio > 1;
  const double apart = above ? ratio.p_above(1) : ratio.p_below(1);
  const double beyond = above ? ratio.p_above(1 + margin) : ratio.p_below(1 - margin);
  return {&one.comparison, ratio.tail(), adjustable(apart, ratio.tail()), adjustable(beyond, ratio.tail())};
}

std::vector<double> adjusted(const std::vector<Judged>& suite, double Judged::*p_value) {
  std::vector<double> values;
  for (const Judged& judged : suite) values.push_back(judged.*p_value);
  return benjamini_hochberg_adjusted(values);
}

Verdict verdict_of(const Comparison& comparison, bool apart, bool beyond) {
  const Interval& interval = *comparison.ratio->interval;
  const double margin = std::max(comparison.margin, kRounding), high = 1 + margin, low = 1 - margin;
  if (interval.low >= low && interval.high <= high) return Verdict::kSame;
  if (apart && beyond && interval.low > high) return Verdict::kRegression;
  if (apart && beyond && interval.high < low) return Verdict::kImprovement;
  return Verdict::kInconclusive;
}

bool has_tail_verdict(const Comparison& comparison, Verdict verdict) {
  return std::ranges::any_of(comparison.tails,
                             [&](const TailVerdict& tail) { return tail.verdict == verdict; });
}

bool is_compared(const Comparison& comparison) {
  return comparison.ratio || is_change(comparison.verdict) || comparison.verdict == Verdict::kSame;
}

bool is_undirected(const Comparison& comparison) {
  return comparison.direction == Direction::kUnknown && is_compared(comparison);
}

bool is_fine(const Comparison& comparison) {
  const auto fine = [](Verdict verdict) {
    return verdict == Verdict::kSame || verdict == Verdict::kImprovement;
  };
  return fine(comparison.verdict) &&
         std::ranges::all_of(comparison.tails, [&](const TailVerdict& tail) { return fine(tail.verdict); });
}

std::size_t count_of(const GateResult& answer, Verdict verdict) {
  const auto found = answer.counts.find(verdict);
  return found == answer.counts.end() ? 0 : found->second;
}

}  // namespace

double margin_of(const Margins& margins, const Record& record) {
  double margin = margins.overall;
  if (margins.rules.empty()) return margin;
  const std::string name = case_name(record);
  for (const MarginRule& rule : margins.rules) {
    const bool fits_metric =
        is_same_metric(rule.metric, record.metric.name) || fits_glob(rule.metric, record.metric.name);
    if (fits_metric && fits_glob(rule.name, name)) margin = rule.margin;
  }
  return margin;
}

GateFile parse_gate_file(std::string_view text, const std::string& source) {
  const toml::table document = parse_toml(text, source);
  GateFile file;
  for (const auto& [key, node] : document) {
    if (key.str() == "margin") {
      file.margin = margin_at(node, source);
    } else if (key.str() == "case") {
      for (const TomlTable& table : toml_tables(node, "case", source)) file.rules.push_back(rule_of(table));
    } else {
      refuse_at(key.source(), source,
                "unknown key " + quote(key.str()) + "; the keys of a gate file are margin and [[case]]");
    }
  }
  return file;
}

GateFile read_gate_file(const std::filesystem::path& path) {
  return parse_gate_file(read_file(path), path.string());
}

double parse_margin(std::string_view text) {
  return require_share(parse_share(text), text);
}

void judge(std::span<Comparison> comparisons, const JudgeRule& rule) {
  std::vector<Comparison*> suite;
  for (Comparison& comparison : comparisons) {
    comparison.margin = margin_of(rule.margins, *comparison.baseline);
    comparison.p_value.reset();
    if (has_samples(comparison)) suite.push_back(&comparison);
  }
  const double hardest = rule.alpha / static_cast<double>(std::max<std::size_t>(1, suite.size()));
  for (Comparison* comparison : suite) {
    const bool reachable = std::exp2(-static_cast<double>(comparison->samples)) <= hardest;
    const std::optional<RatioEstimate> shares =
        comparison->modes ? comparison->modes->share_effect : std::nullopt;
    comparison->verdict = reachable && comparison->ratio->interval
                              ? claim_of(*comparison, *comparison->ratio, shares)
                              : Verdict::kUnderpowered;
  }
  const double correlation = shared_correlation(suite);
  correct(suite, Verdict::kRegression, correlation, rule);
  correct(suite, Verdict::kImprovement, correlation, rule);
  correct(suite, Verdict::kChanged, correlation, rule);
  for (Comparison* comparison : suite) {
    if (!comparison->doubts.empty() && comparison->verdict != Verdict::kUnderpowered)
      comparison->verdict = Verdict::kInconclusive;
  }
}

void judge_rounds(std::span<RoundComparison> comparisons, double margin) {
  std::vector<Judged> suite;
  for (RoundComparison& one : comparisons) {
    if (const auto ratio = ratio_of_rounds(one)) suite.push_back(judged_of(one, *ratio, margin));
  }
  const std::vector<double> apart = adjusted(suite, &Judged::apart);
  const std::vector<double> beyond = adjusted(suite, &Judged::beyond);
  for (std::size_t i = 0; i < suite.size(); ++i) {
    Comparison& comparison = *suite[i].comparison;
    const bool reachable =
        comparison.ratio->pairs >= fewest_pairs(suite[i].tail / static_cast<double>(suite.size()));
    const auto& interval = comparison.ratio->interval;
    const bool significant = apart[i] <= kLastTail && interval &&
                             (interval->low > 1 + kRounding || interval->high < 1 - kRounding);
    if (comparison.ratio->interval && (significant || reachable)) {
      comparison.verdict = verdict_of(comparison, significant, beyond[i] <= kLastTail);
    } else {
      comparison.verdict = Verdict::kUnderpowered;
    }
    if (significant && comparison.verdict != Verdict::kSame)
      comparison.p_value = apart[i] / kLastTail * suite[i].tail;
  }
}

bool is_significant(const Comparison& comparison) {
  return comparison.p_value.has_value();
}

std::size_t fewest_rounds(std::size_t comparisons) {
  return std::max<std::size_t>(
      6, fewest_pairs(kLastTail / static_cast<double>(std::max<std::size_t>(1, comparisons))));
}

GateOutcome gate_outcome(const Comparison& judged) {
  if (judged.verdict == Verdict::kFailed) return GateOutcome::kFailed;
  if (judged.verdict == Verdict::kRegression || has_tail_verdict(judged, Verdict::kRegression))
    return GateOutcome::kRegressed;
  return is_undirected(judged) || is_fine(judged) ? GateOutcome::kPassed : GateOutcome::kOpen;
}

GateOutcome gate_outcome(const RoundComparison& judged) {
  const Comparison& comparison = judged.comparison;
  if (comparison.verdict == Verdict::kFailed) return GateOutcome::kFailed;
  if (comparison.verdict == Verdict::kRegression) return GateOutcome::kRegressed;
  const bool is_bounded = comparison.ratio && comparison.ratio->interval;
  return is_bounded && comparison.ratio->interval->high <= 1 + comparison.margin ? GateOutcome::kPassed
                                                                                 : GateOutcome::kOpen;
}

GateResult gate_result(std::span<const Comparison> judged, std::size_t missing) {
  GateResult answer;
  answer.missing = missing;
  for (const Comparison& comparison : judged) ++answer.counts[comparison.verdict];
  const std::size_t regressed = count_of(answer, Verdict::kRegression);
  const std::size_t failed = count_of(answer, Verdict::kFailed);
  const auto tails = static_cast<std::size_t>(std::ranges::count_if(
      judged, [](const Comparison& c) { return has_tail_verdict(c, Verdict::kRegression); }));
  const auto undirected = static_cast<std::size_t>(std::ranges::count_if(judged, is_undirected));
  const auto fine = static_cast<std::size_t>(std::ranges::count_if(
      judged, [](const Comparison& c) { return gate_outcome(c) == GateOutcome::kPassed; }));
  if (regressed + failed + tails > 0) {
    answer.exit = ExitCode::kFailure;
    answer.sentence = fmt::format("{} of {} cases regressed", regressed, judged.size());
    if (tails > 0) answer.sentence += fmt::format(", {} in the tail", tails);
    if (failed > 0) answer.sentence += fmt::format(", {} failed", failed);
  } else if (std::ranges::none_of(judged, is_compared)) {
    answer.exit = ExitCode::kError;
    answer.sentence = "no case could be compared";
  } else if (undirected == judged.size()) {
    answer.exit = ExitCode::kInconclusive;
    answer.sentence = fmt::format("inconclusive: {} of {} cases changed, but {}",
                                  count_of(answer, Verdict::kChanged), judged.size(), kUnknownDirection);
  } else if (fine < judged.size() || missing > 0) {
    answer.exit = ExitCode::kInconclusive;
    answer.sentence = fmt::format("no regression found, but {} of {} cases are inconclusive",
                                  judged.size() - fine, judged.size());
    const auto unknown = std::ranges::count_if(judged, [](const Comparison& c) {
      return c.verdict == Verdict::kInconclusive && c.doubts.empty() && lacks_run_spread(c);
    });
    if (unknown > 0) answer.sentence += fmt::format(" ({}: {})", unknown, assumed_spread_clause());
    if (missing > 0) answer.sentence += fmt::format("; missing from the candidate: {}", missing);
  } else {
    answer.sentence = fmt::format("all {} cases are the same or better", judged.size() - undirected);
    if (undirected > 0)
      answer.sentence += fmt::format("; not gated: {} ({} changed), {}", undirected,
                                     count_of(answer, Verdict::kChanged), kUnknownDirection);
  }
  return answer;
}

GateResult round_gate_result(std::span<const std::optional<GateOutcome>> outcomes, double margin,
                             const GateWords& words) {
  const auto count = [&](std::optional<GateOutcome> one) { return std::ranges::count(outcomes, one); };
  const auto worse = count(GateOutcome::kRegressed), failed = count(GateOutcome::kFailed),
             open = count(GateOutcome::kOpen), missing = count(std::nullopt);
  const std::string by = fmt::format("{} by more than {:g} %", words.worse, 100 * margin);
  GateResult answer;
  answer.missing = static_cast<std::size_t>(missing);
  if (worse + failed > 0) {
    answer.exit = ExitCode::kFailure;
    answer.sentence = fmt::format("{} of {} {}", worse, outcomes.size(), by);
    if (failed > 0) answer.sentence += fmt::format(", {} failed", failed);
  } else if (missing > 0 || outcomes.empty()) {
    answer.exit = ExitCode::kError;
    answer.sentence = outcomes.empty() ? "nothing could be compared"
                                       : fmt::format("{} of {} {}", missing, outcomes.size(), words.missing);
  } else if (open > 0) {
    answer.exit = ExitCode::kInconclusive;
    answer.sentence =
        fmt::format("inconclusive: {} of {} may be {}{}", open, outcomes.size(), by, words.advice);
  } else {
    answer.sentence = fmt::format("{} {}", outcomes.size() == 1 ? "not" : "none is", by);
  }
  return answer;
}

}  // namespace headroom
