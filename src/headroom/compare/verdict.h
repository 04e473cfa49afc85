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

/// Slowdown of matching cases that is not a regression.
struct MarginRule {
  std::string name = "*";    ///< pattern of case_name(): '*' any characters, '?' one
  std::string metric = "*";  ///< pattern of the metric's name
  double margin = 0;
};

struct Margins {
  double overall = 0.01;
  std::vector<MarginRule> rules;  ///< the last match counts
};

/// Returns the margin of the last matching rule, or the overall margin.
double margin_of(const Margins& margins, const Record& record);

/// Reads a gate file:
///
///     margin = "3%"              # for all cases; or 0.03
///
///     [[case]]
///     name = "gemv D=*"          # '*' any characters, '?' one
///     metric = "latency"         # may be left out
///     margin = "5%"
///
/// `source` names the text in errors. Throws Error with line and column: not TOML, a key that is unknown or
/// missing, a margin that is no share from 0 up to 100 %.
struct GateFile {
  std::optional<double> margin;
  std::vector<MarginRule> rules;
};
GateFile parse_gate_file(std::string_view text, const std::string& source);
GateFile read_gate_file(const std::filesystem::path& path);

/// Parses "3%" or "0.03" to a share from 0 to below 1. Throws Error.
double parse_margin(std::string_view text);

/// Correction for the number of cases.
enum class Multiplicity {
  kHolm,              ///< for a gate: bounds the probability of any false claim
  kBenjaminiHochberg  ///< for a report: bounds the share of false claims
};

struct JudgeRule {
  Margins margins;
  Multiplicity multiplicity = Multiplicity::kBenjaminiHochberg;
  double alpha = 0.05;
};

/// Sets the margin, verdict and p-value of each comparison. All of them are one suite.
///
/// With the ratio turned so that more than 1 is worse, its 95 % interval gives the claim: a regression if the
/// interval lies above 1 + margin, an improvement if below 1 - margin, the same if within. The one-sided
/// p-value inverts the interval: the smallest p whose interval at confidence 1 - 2p still lies beyond the
/// margin. It therefore accounts for pairing, autocorrelation and processes as the interval does. It is also
/// widened by the suite's correlation of consecutive rounds, because a short series alone cannot estimate it
/// for such small p (.001 for 50 cases); without correlation this costs nothing. Claims that do not survive
/// the correction, over all comparisons with samples and separately for each direction, are inconclusive. A
/// case is underpowered if even n unanimous samples cannot reach alpha over the number of cases (2^-n, the
/// smallest p of a sign test); it is never the same.
///
/// For separate runs with modes (Comparison::modes), the effect of the shares on the mean is tested as well,
/// and either may make a claim (with doubled p-value, for two tests). If the two point in opposite
/// directions, only their product makes a claim, and only for a ratio taken mode by mode. The same needs both
/// within the margin, and is impossible if modes do not match or share_effect is unknown. A comparison
/// with doubts gets no claim. A metric of unknown direction changes, and never regresses or improves.
///
/// SIM (bench_gate_false_alarms, 2,000 suites of 50 cases, 1 % noise, Holm): suites with a false regression
/// at margin 0: 2.5 % with 30 pairs, 4.3 % with 100, 1.9 % with spikes, 4.7 % with 8 differing processes, 0.5
/// % unpaired; with correlations of .3 and .5: 1.6 and 1.3 % with 30 pairs, 3.0 and 3.5 % with 60 (6.9
/// and 9.5 % without the suite's correlation). One case 3 % slower, 30 pairs: found in 99 % of suites at
/// margin 0, 97 % at 0.5 %, 93 % at 1 % (99 % with 40 pairs).
void judge(std::span<Comparison> comparisons, const JudgeRule& rule);

/// A command of `headroom ab` against the first of its group.
struct RoundComparison {
  Comparison comparison;
  Look look = Look::kLast;  ///< how sampling ended
};

/// Sets ratio and interval (RoundRatio), margin and verdict of commands that ran in rounds. All of them are
/// one suite. Comparisons of different sessions stay unchanged.
///
/// The same if the interval lies within the margin; a regression or improvement if it lies beyond it. If it
/// excludes 1 but reaches into the margin, the commands differ by an unknown amount: the verdict is
/// inconclusive and has a p-value (see told_apart). Claims must survive the correction of Benjamini and
/// Hochberg at the level of their look. If even unanimous rounds could not reach that level, the verdict is
/// kUnderpowered.
void judge_rounds(std::span<RoundComparison> suite, double margin);

/// Whether the two differ, in either direction.
bool told_apart(const Comparison& comparison);

/// Returns the fewest rounds in which one of so many comparisons can be significant, whatever the others
/// show.
std::size_t fewest_rounds(std::size_t comparisons);

/// Answer of a gate for a whole suite.
struct GateAnswer {
  ExitCode exit = ExitCode::kFine;
  std::map<Verdict, std::size_t> counts;
  std::size_t missing = 0;  ///< cases of the baseline without a match in the test
  std::string sentence;     ///< "2 of 50 cases regressed", ...
};

/// Answers for judged comparisons. kNo if any case regressed, or failed although the baseline was measured;
/// kCannot if no case could be compared; kInconclusive if any other case is neither same nor improved, cases
/// are missing, or the direction of all is unknown; otherwise kFine. Metrics of unknown direction are not
/// gated.
GateAnswer gate_answer(std::span<const Comparison> judged, std::size_t missing);

}  // namespace headroom
