// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "headroom/base/units.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/findings/finding_text.h"
#include "headroom_trace/findings/findings.h"

namespace headroom::trace {
namespace {

constexpr double kLeastStraggler = 0.01, kLeastImbalance = 0.02;

/// The steps of a rank, for combine.
struct RankSteps {
  std::int64_t count = 0;  ///< 0: none in the trace
  double step_ns = 0;
};

struct RankFindings {
  std::int64_t rank = 0;
  RankSteps steps;
  std::vector<Finding> findings;
};

RankFindings rank_findings(const RankResult& rank) {
  const StoredRows steps(stored_table(rank.result.tables, kFindingStepTable, 1));
  return {rank.rank,
          {steps.integer(0, "steps"), steps.number(0, "step_ns")},
          findings_of(stored_table(rank.result.tables, kFindingTable))};
}

/// The same cause in different ranks.
std::pair<FindingKind, std::string> cause_of(const Finding& finding) {
  const bool is_by_place =
      finding.kind == FindingKind::kSynchronisation || finding.kind == FindingKind::kKernelBelowRoof;
  return {finding.kind, is_by_place ? finding.op : ""};
}

/// What every rank loses for the same cause.
std::vector<Finding> shared_findings(std::span<const RankFindings> ranks, bool do_wait) {
  std::map<std::pair<FindingKind, std::string>, std::vector<Finding>> by_cause;
  for (const RankFindings& rank : ranks) {
    for (Finding finding : rank.findings) {
      finding.rank = rank.rank;
      by_cause[cause_of(finding)].push_back(std::move(finding));
    }
  }
  std::vector<Finding> shared;
  for (const auto& [cause, of_ranks] : by_cause) {
    if (do_wait && of_ranks.size() < ranks.size()) continue;
    const auto less = [](const Finding& a, const Finding& b) { return a.recoverable_ns < b.recoverable_ns; };
    Finding finding =
        *(do_wait ? std::ranges::min_element(of_ranks, less) : std::ranges::max_element(of_ranks, less));
    if (do_wait) finding.rank = -1;
    shared.push_back(std::move(finding));
  }
  return shared;
}

/// The losses of a rank beyond those of the others: its activity while they wait.
const Finding* own_finding(const RankFindings& rank) {
  const Finding* most = nullptr;
  for (const Finding& finding : rank.findings) {
    const bool is_wait =
        finding.kind == FindingKind::kExposedCommunication || finding.kind == FindingKind::kPipelineBubble;
    if (!is_wait && (most == nullptr || finding.recoverable_ns > most->recoverable_ns)) most = &finding;
  }
  return most;
}

Finding straggler(const RankFindings& rank, double imposed_ns, std::int64_t last, std::size_t collectives,
                  double step_ns) {
  Finding finding;
  finding.kind = FindingKind::kStraggler;
  finding.recoverable_ns = imposed_ns;
  finding.share = imposed_ns / step_ns;
  finding.rank = rank.rank;
  finding.evidence =
      fmt::format("the other ranks wait {} a step for rank {}, which comes last to {} of {} collectives",
                  format_time_ns(imposed_ns), rank.rank, last, collectives);
  finding.fix =
      "look at what this rank does before it comes: its host, its input, its share of the work, its device's "
      "clock";
  if (const Finding* own = own_finding(rank); own != nullptr) {
    finding.evidence += fmt::format("; there, {}: {}", to_string(own->kind), own->evidence);
    finding.op = own->op;
    finding.module = own->module;
    finding.line = own->line;
    finding.at_ns = own->at_ns;
    finding.fix = own->fix;
  }
  return finding;
}

std::int64_t worst_iteration(const RankWaits& waits, std::size_t rank) {
  std::int64_t worst = -1;
  double most = 0;
  for (const auto& [iteration, imposed] : waits.imposed_by_iteration) {
    if (imposed[rank] > most) {
      most = imposed[rank];
      worst = iteration;
    }
  }
  return worst;
}

/// Communication counts only without waits for other ranks.
void take_waits_away(std::vector<RankFindings>& ranks, const RankWaits& waits, double steps) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    double waited = waits.waited_ns[i] / steps;
    for (Finding& finding : ranks[i].findings) {
      if (finding.kind != FindingKind::kExposedCommunication && finding.kind != FindingKind::kPipelineBubble)
        continue;
      const double taken = std::min(waited, finding.recoverable_ns);
      finding.recoverable_ns -= taken;
      finding.share = finding.recoverable_ns / ranks[i].steps.step_ns;
      waited -= taken;
    }
  }
}

std::vector<Finding> late_ranks(std::span<const RankFindings> ranks, const RankWaits& waits,
                                std::size_t collectives, double steps, double step_ns) {
  std::vector<Finding> findings;
  double small_ns = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double imposed = waits.imposed_ns[i] / steps;
    if (imposed < kLeastStraggler * step_ns) {
      small_ns += imposed;
      continue;
    }
    findings.push_back(straggler(ranks[i], imposed, waits.last[i], collectives, step_ns));
    findings.back().step = worst_iteration(waits, i);
  }
  const double joint = waits.joint_ns / steps + small_ns;
  if (joint >= kLeastImbalance * step_ns) {
    Finding finding;
    finding.kind = FindingKind::kImbalance;
    finding.recoverable_ns = joint;
    finding.share = joint / step_ns;
    finding.evidence =
        fmt::format("ranks come to collectives {} a step apart, now these, now those", format_time_ns(joint));
    finding.fix =
        "give the ranks equal work (sequence lengths, experts, stages); `headroom trace collectives` has "
        "each wait";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

void combine_findings(std::span<const RankResult> results, std::size_t most, AnalysisResult& result) {
  std::vector<std::vector<CollectiveCall>> calls;
  std::vector<RankFindings> ranks;
  double step_ns = 0, steps = 1;
  bool has_steps = true;
  for (const RankResult& rank : results) {
    calls.push_back(stored_calls(rank.result));
    ranks.push_back(rank_findings(rank));
    step_ns += ranks.back().steps.step_ns / static_cast<double>(results.size());
    steps = std::max(steps, static_cast<double>(ranks.back().steps.count));
    has_steps = has_steps && ranks.back().steps.count > 0;
  }
  const CollectiveMatches matches = match_collectives(calls);
  const bool do_wait = !matches.matched.empty();
  const RankWaits waits =
      rank_waits(ranks.size(), matches.matched, clock_offsets(ranks.size(), matches.matched));
  take_waits_away(ranks, waits, steps);
  std::vector<Finding> findings = shared_findings(ranks, do_wait);
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.kind != FindingKind::kFragmentation && finding.share < 0.001;
  });
  std::ranges::move(late_ranks(ranks, waits, matches.matched.size(), steps, step_ns),
                    std::back_inserter(findings));
  sort_findings(findings);
  say_findings(findings, step_ns, has_steps, most, result);
}

}  // namespace headroom::trace
