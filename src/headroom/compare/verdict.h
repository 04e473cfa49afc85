// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/compare/comparison.h"
#include "headroom/record/record.h"
#include "headroom/stats/round_ratio.h"

namespace headroom {

struct MarginRule {
  std::string name = "*";    ///< pattern of case_name() with '*' and '?'
  std::string metric = "*";  ///< pattern
  double margin = 0;
};

struct Margins {
  double overall = 0.01;
  std::vector<MarginRule> rules;  ///< the last match counts
};

double margin_of(const Margins& margins, const Record& record);

/// A gate file:
///
///     margin = "3%"              # for all cases; or 0.03
///
///     [[case]]
///     name = "gemv D=*"          # '*' any characters, '?' one
///     metric = "latency"         # optional
///     margin = "5%"
///
/// Parsing throws Error with line and column: invalid TOML, unknown or missing keys, margins outside [0, 100
/// %). `source` names the text in errors.
struct GateFile {
  std::optional<double> margin;
  std::vector<MarginRule> rules;
};
GateFile parse_gate_file(std::string_view text, const std::string& source);
GateFile read_gate_file(const std::filesystem::path& path);

/// Parses "3%" or "0.03" to a share from 0 to below 1. Throws Error.
double parse_margin(std::string_view text);

enum class Multiplicity {
  kHolm,              ///< for a gate: bounds the probability of any false claim
  kBenjaminiHochberg  ///< for a report: bounds the share of false claims
};

struct JudgeRule {
  Margins margins;
  Multiplicity multiplicity = Multiplicity::kBenjaminiHochberg;
  double alpha = 0.05;
};

/// Sets the margin, verdict and p-value of each comparison of one suite.
///
/// The 95 % interval of worsening() gives the claim: regression above 1 + margin, improvement below 1 -
/// margin, the same within. The one-sided p-value is the smallest p whose interval at confidence 1 - 2p lies
/// beyond the margin, so it accounts for pairing, autocorrelation and processes. The suite's correlation of
/// consecutive rounds widens it, as a short series cannot estimate that for small p (.001 for 50 cases).
/// Claims are corrected over all comparisons with samples, each direction separately; others are
/// inconclusive. A case is underpowered if even n unanimous samples cannot reach alpha over the number of
/// cases (2^-n, the smallest p of a sign test).
///
/// In separate runs with modes, the effect of the shares on the mean may claim, too (p-value doubled for two
/// tests). If ratio and shares point in opposite directions, only their product claims, and only for a
/// mode-by-mode ratio. "The same" needs both within the margin, matching modes and a known share_effect.
/// Doubts prevent claims; a metric of unknown direction only changes.
///
/// SIM (bench_gate_false_alarms, 2,000 suites of 50 cases, 1 % noise, Holm): suites with a false regression
/// at margin 0: 2.5 % with 30 pairs, 4.3 % with 100, 1.9 % with spikes, 4.7 % with 8 differing processes, 0.5
/// % unpaired; with correlations of .3 and .5: 1.6 and 1.3 % with 30 pairs, 3.0 and 3.5 % with 60 (6.9 and
/// 9.5 % without the suite's correlation). One case 3 % slower, 30 pairs: found in 99 % of suites at margin
/// 0, 97 % at 0.5 %, 93 % at 1 % (99 % with 40 pairs).
void judge(std::span<Comparison> comparisons, const JudgeRule& rule);

/// A command of `headroom ab` against the first of its group.
struct RoundComparison {
  Comparison comparison;
  Look look = Look::kLast;  ///< how sampling ended
};

/// Sets ratio (RoundRatio), margin and verdict of commands that ran in rounds, one suite. Skips comparisons
/// of different sessions.
///
/// An interval that excludes 1 but reaches into the margin is inconclusive with a p-value (see
/// is_significant). Claims must survive Benjamini and Hochberg's correction at the level of their look;
/// kUnderpowered if even unanimous rounds could not.
void judge_rounds(std::span<RoundComparison> suite, double margin);

/// In either direction.
bool is_significant(const Comparison& comparison);

/// Fewest rounds in which one comparison can be significant.
std::size_t fewest_rounds(std::size_t comparisons);

/// A gate's answer on one case; kOpen: inconclusive, or not compared.
enum class GateOutcome { kPassed, kRegressed, kFailed, kOpen };
/// Counts as in gate_result(). A metric of unknown direction passes.
GateOutcome gate_outcome(const Comparison& judged);
/// For round_gate_result(): passes without a regression.
GateOutcome gate_outcome(const RoundComparison& judged);

struct GateResult {
  ExitCode exit = ExitCode::kSuccess;
  std::map<Verdict, std::size_t> counts;
  std::size_t missing = 0;  ///< without a match in the test
  std::string sentence;
};

/// For the sentence of round_gate_result().
struct GateWords {
  const char* worse;        ///< "slower"
  const char* missing;      ///< "not compared", of those without an outcome
  const char* advice = "";  ///< after an inconclusive answer
};

/// kFailure if one is worse by more than `margin` or failed; else kError if one could not be compared
/// (nullopt) or there are none, kInconclusive if one is open.
GateResult round_gate_result(std::span<const std::optional<GateOutcome>> outcomes, double margin,
                             const GateWords& words);

/// kFailure if a case regressed, or failed after a measured baseline; kError if nothing could be compared;
/// kInconclusive if another case is neither same nor improved, cases are missing, or all directions are
/// unknown; else kSuccess.
GateResult gate_result(std::span<const Comparison> judged, std::size_t missing);

}  // namespace headroom
