// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/ranks/lateness.h"
#include "headroom_trace/ranks/rank_summary.h"

namespace headroom::trace {
namespace {

constexpr double kLeastImbalance = 0.02;
/// Minimum share of a late rank's cost.
constexpr double kLeastReason = 0.25;

struct RankFindings {
  std::int64_t rank = 0;
  const RankSummary* summary = nullptr;
  std::vector<Finding> findings;  ///< without waits
};

std::pair<FindingKind, std::string> cause_of(const Finding& finding) {
  const bool is_by_place =
      finding.kind == FindingKind::kSynchronisation || finding.kind == FindingKind::kKernelBelowRoof;
  return {finding.kind, is_by_place ? finding.op : ""};
}

/// By cause.
std::vector<Finding> shared_findings(std::span<const RankFindings> ranks, bool do_wait, double step_ns) {
  struct OfRank {
    const RankFindings* rank;
    const Finding* finding;
  };
  std::map<std::pair<FindingKind, std::string>, std::vector<OfRank>> by_cause;
  for (const RankFindings& rank : ranks) {
    for (const Finding& finding : rank.findings) by_cause[cause_of(finding)].push_back({&rank, &finding});
  }
  std::vector<Finding> shared;
  std::vector<const RankFindings*> of;
  for (const auto& [cause, of_ranks] : by_cause) {
    if (do_wait && of_ranks.size() < ranks.size()) continue;
    const auto gain = [](const OfRank& one) { return one.finding->recoverable_ns; };
    const OfRank& one = *(do_wait ? std::ranges::min_element(of_ranks, {}, gain)
                                  : std::ranges::max_element(of_ranks, {}, gain));
    Finding finding = *one.finding;
    finding.rank = do_wait ? -1 : one.rank->rank;
    finding.share = finding.recoverable_ns / step_ns;
    if (finding.kind != FindingKind::kFragmentation && finding.share < 0.001) continue;
    shared.push_back(std::move(finding));
    of.push_back(one.rank);
  }
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (shared[i].partner < 0) continue;
    const Finding& partner = of[i]->findings[static_cast<std::size_t>(shared[i].partner)];
    const auto same = std::ranges::find(shared, cause_of(partner), cause_of);
    const bool is_partner =
        same != shared.end() &&
        are_dependent(shared[i].recoverable_ns, same->recoverable_ns, shared[i].together_ns);
    shared[i].partner = is_partner ? same - shared.begin() : -1;
  }
  return shared;
}

/// Time beyond the other ranks, ns per step.
template <typename Reason>
struct Excess {
  const Reason* reason = nullptr;
  double ns = 0, others_ns = 0;  ///< beyond their median; the median
};

Excess<Finding> own_finding(std::span<const RankFindings> ranks, std::size_t late) {
  Excess<Finding> most;
  for (const Finding& finding : ranks[late].findings) {
    if (finding.kind == FindingKind::kExposedCommunication || finding.kind == FindingKind::kPipelineBubble)
      continue;
    std::vector<double> others;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i == late) continue;
      const auto same = std::ranges::find(ranks[i].findings, cause_of(finding), cause_of);
      others.push_back(same == ranks[i].findings.end() ? 0 : same->recoverable_ns);
    }
    const double usual = quantile_in_place(others, 0.5);
    if (finding.recoverable_ns - usual > most.ns) most = {&finding, finding.recoverable_ns - usual, usual};
  }
  return most;
}

Excess<OpTime> own_op(std::span<const RankFindings> ranks, std::size_t late, double OpTime::*time) {
  std::vector<std::unordered_map<std::string_view, double>> times(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const OpTime& op : ranks[i].summary->ops) times[i][op.name] = op.*time;
  }
  Excess<OpTime> most;
  std::vector<double> others;
  for (const OpTime& op : ranks[late].summary->ops) {
    others.clear();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i == late) continue;
      const auto same = times[i].find(op.name);
      others.push_back(same == times[i].end() ? 0 : same->second);
    }
    const double usual = quantile_in_place(others, 0.5);
    if (op.*time - usual > most.ns) most = {&op, op.*time - usual, usual};
  }
  return most;
}

void add_reason(std::span<const RankFindings> ranks, std::size_t late, Finding& finding) {
  const double least_ns = kLeastReason * finding.recoverable_ns;
  const Excess<OpTime> device = own_op(ranks, late, &OpTime::device_ns),
                       host = own_op(ranks, late, &OpTime::host_ns);
  // The host waits for a slow kernel.
  const bool is_device = device.ns >= finding.recoverable_ns / 2 || device.ns >= host.ns;
  const Excess<OpTime>& op = is_device ? device : host;
  if (op.reason != nullptr && op.ns >= least_ns) {
    finding.op = op.reason->name;
    finding.evidence +=
        fmt::format("; there {} takes {}/step more {} ({}; {} on the others)", op.reason->name,
                    format_time_ns(op.ns), is_device ? "on the GPU" : "on the CPU",
                    format_time_ns(op.ns + op.others_ns), format_time_ns(op.others_ns));
    finding.fix =
        is_device
            ? fmt::format(
                  "compare shapes, kernels and call counts of {} between the ranks (`headroom trace ops`); "
                  "if equal, compare GPU clocks",
                  op.reason->name)
            : fmt::format(
                  "find out why {} takes longer on this rank's CPU: its input, other processes, CPU affinity",
                  op.reason->name);
  }
  // Findings concern idle devices.
  if (is_device && op.ns >= finding.recoverable_ns / 2) return;
  const Excess<Finding> own = own_finding(ranks, late);
  if (own.reason == nullptr || own.ns < least_ns) return;
  finding.evidence +=
      fmt::format("; on that rank, {}: {}", to_string(own.reason->kind), own.reason->evidence);
  finding.op = own.reason->op;
  finding.module = own.reason->module;
  finding.line = own.reason->line;
  finding.at_ns = own.reason->at_ns;
  finding.fix = own.reason->fix;
}

Finding straggler(std::span<const RankFindings> ranks, std::size_t late, const Lateness& lateness,
                  double cost_ns, double step_ns) {
  Finding finding;
  finding.kind = FindingKind::kStraggler;
  finding.recoverable_ns = finding.further_ns = cost_ns;
  finding.share = cost_ns / step_ns;
  finding.rank = ranks[late].rank;
  finding.step = lateness.worst_iteration[late];
  finding.evidence =
      fmt::format("the other ranks wait {}/step for rank {}, last to reach {} of {} collectives",
                  format_time_ns(cost_ns), finding.rank, lateness.last[late], lateness.collectives[late]);
  finding.fix = "check this rank before its collectives: CPU load, input, share of the work, GPU clock";
  add_reason(ranks, late, finding);
  return finding;
}

void subtract_waits(std::vector<RankFindings>& ranks, const Lateness& lateness, double steps) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    double waited = lateness.waited_ns[i] / steps;
    for (Finding& finding : ranks[i].findings) {
      if (finding.kind != FindingKind::kExposedCommunication && finding.kind != FindingKind::kPipelineBubble)
        continue;
      const double taken = std::min(waited, finding.recoverable_ns);
      finding.recoverable_ns -= taken;
      finding.further_ns = std::max(0.0, finding.further_ns - taken);
      waited -= taken;
      const auto place = &finding - ranks[i].findings.data();
      for (Finding& other : ranks[i].findings) {
        if (&other == &finding || other.partner == place) other.together_ns -= taken;
      }
    }
  }
}

std::vector<Finding> late_ranks(std::span<const RankFindings> ranks, const Lateness& lateness, double steps,
                                double step_ns) {
  std::vector<Finding> findings;
  double joint = lateness.total_ns / steps;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double cost = lateness.cost_ns[i] / steps;
    if (cost < kMinStragglerShare * step_ns) continue;
    joint -= cost;
    findings.push_back(straggler(ranks, i, lateness, cost, step_ns));
  }
  if (joint >= kLeastImbalance * step_ns) {
    Finding finding;
    finding.kind = FindingKind::kImbalance;
    finding.recoverable_ns = finding.further_ns = joint;
    finding.share = joint / step_ns;
    finding.evidence =
        fmt::format("ranks reach collectives {}/step apart, and the last rank varies", format_time_ns(joint));
    finding.fix =
        "give the ranks equal work (sequence lengths, experts, stages); `headroom trace collectives` lists "
        "each wait";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

void combine_findings(std::span<const RankResult> results, std::size_t most, AnalysisResult& result) {
  std::vector<RankFindings> ranks;
  std::vector<StepShares> all_shares;
  for (const RankResult& rank : results) {
    const RankSummary& summary = summary_of(rank);
    ranks.push_back({rank.rank, &summary, summary.findings});
    all_shares.push_back(summary.shares);
  }
  const StepShares shares = mean_of(all_shares);
  const JobCollectives collectives = job_collectives(results);
  const Lateness& lateness = collectives.lateness;
  subtract_waits(ranks, lateness, collectives.steps);
  RankSummary job;
  job.findings = shared_findings(ranks, !collectives.matches.matched.empty(), shares.step_ns);
  std::ranges::move(late_ranks(ranks, lateness, collectives.steps, shares.step_ns),
                    std::back_inserter(job.findings));
  sort_findings(job.findings);
  job.shares = shares;
  report_findings(job.findings, shares, most, result);
  if (std::string note = start_note(lateness, results, shares.step_ns, shares.has_steps()); !note.empty())
    result.notes.push_back(std::move(note));
  result.summary = std::make_shared<const RankSummary>(std::move(job));
}

}  // namespace headroom::trace
