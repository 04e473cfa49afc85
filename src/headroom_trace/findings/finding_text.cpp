// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/findings/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom::trace {
namespace {

constexpr std::array<const char*, kFindingKinds> kNames{
    "data_loading",       "exposed_copy",      "exposed_communication",
    "pipeline_bubble",    "synchronisation",   "device_allocation",
    "launch_bound",       "host_bound",        "recompilation",
    "garbage_collection", "straggler",         "imbalance",
    "slow_step",          "kernel_below_roof", "fragmentation",
    "first_use",          "slow_launch",       "device_late"};

/// "1 and 2 overlap: together 1.20 ms".
std::string partner_text(std::span<const Finding> findings, const Finding& finding, std::size_t number) {
  const auto partner = static_cast<std::size_t>(finding.partner);
  const bool is_less = finding.together_ns < finding.recoverable_ns + findings[partner].recoverable_ns;
  return fmt::format("{} and {} {}: {} for both", partner + 1, number,
                     is_less ? "overlap" : "save more together", format_time_ns(finding.together_ns));
}

}  // namespace

const char* to_string(FindingKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

FindingKind finding_kind(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) throw Error(fmt::format("unknown kind of finding: {}", text));
  return static_cast<FindingKind>(found - kNames.begin());
}

std::string place_text(const Finding& finding) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  if (finding.rank >= 0) add(fmt::format("rank {}", finding.rank));
  if (finding.step >= 0) add(fmt::format("most in step {}", finding.step));
  add(finding.op);
  add(finding.module);
  if (finding.line != finding.op) add(finding.line);
  return text;
}

DataTable finding_table(std::span<const Finding> findings) {
  DataTable table{kFindingTable,
                  "what to fix first, largest gain per step first",
                  {{"kind", "kind", Kind::kText},
                   {"recoverable_ns", "gain per step", Kind::kTimeNs},
                   {"further_ns", "additional gain", Kind::kTimeNs},
                   {"share", "of the step", Kind::kShare},
                   {"rank", "rank", Kind::kCount},
                   {"step", "step", Kind::kCount},
                   {"at_ns", "at", Kind::kInstantNs},
                   {"where", "where", Kind::kText},
                   {"op", "operator", Kind::kText},
                   {"module", "module", Kind::kText},
                   {"line", "Python line", Kind::kText},
                   {"evidence", "evidence", Kind::kText},
                   {"fix", "fix", Kind::kText}},
                  {}};
  for (const Finding& finding : findings) {
    table.rows.push_back({std::string(to_string(finding.kind)), finding.recoverable_ns, finding.further_ns,
                          finding.share, number_cell(finding.rank), number_cell(finding.step), finding.at_ns,
                          text_cell(place_text(finding)), text_cell(finding.op), text_cell(finding.module),
                          text_cell(finding.line), finding.evidence, finding.fix});
  }
  return table;
}

std::vector<std::string> finding_sentences(std::span<const Finding> findings, double step_ns,
                                           bool has_steps) {
  if (findings.empty())
    return {fmt::format("no finding would shorten {} noticeably ({})", has_steps ? "a step" : "the trace",
                        format_time_ns(step_ns))};
  std::vector<std::string> say;
  std::size_t number = 0;
  for (const Finding& finding : findings) {
    std::string text =
        fmt::format("{}. {}: saves {} of {}{} ({}{})", ++number, to_string(finding.kind),
                    format_time_ns(finding.recoverable_ns), format_time_ns(step_ns), has_steps ? "/step" : "",
                    format_percent(finding.share), has_steps ? "" : " of the trace");
    if (const std::string place = place_text(finding); !place.empty()) text += "; " + place;
    say.push_back(text);
    if (finding.partner >= 0) say.push_back("   " + partner_text(findings, finding, number));
    say.push_back("   " + finding.evidence);
    say.push_back("   fix: " + finding.fix);
  }
  return say;
}

void report_findings(const std::vector<Finding>& findings, const StepShares& shares, std::size_t most,
                     AnalysisResult& result) {
  const std::size_t shown = most == 0 ? findings.size() : std::min(most, findings.size());
  result.standing = standing_lines(shares, findings);
  // The standing lines then explain it.
  const bool is_said = findings.empty() && (unexplained(shares, findings) > kHighLoss || !shares.is_known());
  if (!is_said)
    result.answer = finding_sentences(std::span(findings).first(shown), shares.step_ns, shares.has_steps());
  if (shown < findings.size())
    result.answer.push_back(
        fmt::format("{} smaller findings: run `headroom trace findings`", findings.size() - shown));
  DataTable table = finding_table(findings);
  table.is_in_answer = true;
  result.tables.insert(result.tables.begin(), std::move(table));
  result.headlines.push_back({"recoverable_ns", Kind::kTimeNs, true, joint_gain_ns(findings), ""});
}

}  // namespace headroom::trace
