// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/mode_comparison_text.h"

#include <fmt/format.h>

#include <vector>

#include "headroom/base/text.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/value_text.h"

namespace headroom {
namespace {

std::string side_text(const Modes& modes, const Comparison& comparison) {
  if (modes.groups.empty()) return "one group";
  return groups_text(modes.groups, comparison.unit, comparison.baseline->metric.name);
}

std::string matched_text(const Comparison& comparison) {
  const ModeComparison& modes = *comparison.modes;
  const auto value = [&](double median) {
    return value_text(median, comparison.unit, comparison.baseline->metric.name);
  };
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < modes.matched.size(); ++i) {
    const Mode &before = modes.baseline.groups[i], &after = modes.test.groups[i];
    parts.push_back(fmt::format("{}, now {} ({:.3f}), in {:.0f}, now {:.0f} %{}", value(before.median),
                                value(after.median), modes.matched[i].ratio.ratio, 100 * before.share,
                                100 * after.share, i == 0 ? " of the samples" : ""));
  }
  return join(parts, "; ");
}

std::string shares_text(const ModeComparison& modes) {
  if (!modes.share_effect) return "in stretches, so that their shares tell nothing of the program";
  const RatioEstimate& effect = *modes.share_effect;
  return fmt::format("their shares alone make the mean {:.3f} ({:.3f} to {:.3f})", effect.ratio,
                     effect.interval->low, effect.interval->high);
}

/// What an inconclusive verdict lacks, as far as it is a matter of the modes; empty otherwise.
std::string what_is_open(const Comparison& comparison) {
  const ModeComparison& modes = *comparison.modes;
  if (comparison.verdict != Verdict::kInconclusive || !comparison.doubts.empty()) return "";
  if (!all_bounded(modes)) return ": too few samples of a mode to compare it";
  if (!modes.share_effect) return "";
  const Interval& shares = *modes.share_effect->interval;
  const bool inside = shares.low >= 1 - comparison.margin && shares.high <= 1 + comparison.margin;
  return inside ? "" : ": whether that is within the margin is open";
}

}  // namespace

std::string mode_comparison_text(const Comparison& comparison) {
  if (!comparison.modes) return "";
  const ModeComparison& modes = *comparison.modes;
  if (modes.matched.empty()) {
    return fmt::format("modes: the baseline is {}, the test {}: never the same, and compared by all samples",
                       side_text(modes.baseline, comparison), side_text(modes.test, comparison));
  }
  return fmt::format("modes: {}; {}{}", matched_text(comparison), shares_text(modes),
                     what_is_open(comparison));
}

}  // namespace headroom
