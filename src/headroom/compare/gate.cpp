// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/gate.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {
namespace {

bool tail_is(const Comparison& comparison, Verdict verdict) {
  return std::ranges::any_of(comparison.tails,
                             [&](const TailVerdict& tail) { return tail.verdict == verdict; });
}

/// The same or better, in the median and in every tail that was asked for.
bool is_fine(const Comparison& comparison) {
  const auto fine = [](Verdict verdict) {
    return verdict == Verdict::kSame || verdict == Verdict::kImprovement;
  };
  return fine(comparison.verdict) &&
         std::ranges::all_of(comparison.tails, [&](const TailVerdict& tail) { return fine(tail.verdict); });
}

std::size_t count_of(const GateAnswer& answer, Verdict verdict) {
  const auto found = answer.counts.find(verdict);
  return found == answer.counts.end() ? 0 : found->second;
}

}  // namespace

GateAnswer gate_answer(std::span<const Comparison> judged, std::size_t missing) {
  GateAnswer answer;
  answer.missing = missing;
  for (const Comparison& comparison : judged) ++answer.counts[comparison.verdict];
  const std::size_t regressed = count_of(answer, Verdict::kRegression);
  const std::size_t failed = count_of(answer, Verdict::kFailed);
  const auto tails = static_cast<std::size_t>(
      std::ranges::count_if(judged, [](const Comparison& c) { return tail_is(c, Verdict::kRegression); }));
  const auto fine = static_cast<std::size_t>(std::ranges::count_if(judged, is_fine));
  const bool any_ratio = std::ranges::any_of(judged, [](const Comparison& c) { return c.ratio.has_value(); });
  if (regressed + failed + tails > 0) {
    answer.exit = ExitCode::kNo;
    answer.sentence = fmt::format("{} of {} cases regressed", regressed, judged.size());
    if (tails > 0) answer.sentence += fmt::format(", the tails of {}", tails);
    if (failed > 0) answer.sentence += fmt::format(", {} failed", failed);
  } else if (!any_ratio) {
    answer.exit = ExitCode::kCannot;
    answer.sentence = "no case could be compared";
  } else if (fine < judged.size() || missing > 0) {
    answer.exit = ExitCode::kInconclusive;
    answer.sentence = fmt::format("no regression was shown, but {} of {} cases are undecided",
                                  judged.size() - fine, judged.size());
    const auto unknown = std::ranges::count_if(judged, lacks_run_spread);
    if (unknown > 0)
      answer.sentence += fmt::format(" ({} because nothing tells how far runs lie apart)", unknown);
    if (missing > 0) answer.sentence += fmt::format(" and {} of the baseline are missing", missing);
  } else {
    answer.sentence = fmt::format("all {} cases are the same or better", judged.size());
  }
  return answer;
}

}  // namespace headroom
