// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/findings/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/findings/finding_search.h"

namespace headroom::trace {
namespace {

constexpr std::array<const char*, kFindingKinds> kNames{
    "data_loading",       "exposed_copy",      "exposed_communication",
    "pipeline_bubble",    "synchronisation",   "device_allocation",
    "launch_bound",       "host_bound",        "recompilation",
    "garbage_collection", "straggler",         "imbalance",
    "slow_step",          "kernel_below_roof", "fragmentation"};

/// "step 3, aten::item, Linear_0, train.py(41): log_loss"
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

std::vector<bool> names_that_fit(const Trace& trace, const std::string& pattern) {
  std::vector<bool> fit(trace.names.size());
  for (NameId name = 0; name < fit.size(); ++name) fit[name] = fits_glob(pattern, trace.names[name]);
  return fit;
}

bool is_inside(const FindingSearch& search, const std::vector<bool>& fits, std::uint32_t event) {
  for (; event != kNone; event = search.parent()[event]) {
    if (fits[search.trace().events.name[event]]) return true;
  }
  return false;
}

constexpr const char* kStepTable = "finding_steps";
constexpr double kLeastStraggler = 0.01, kLeastImbalance = 0.02;

void say(const std::vector<Finding>& findings, double step_ns, bool has_steps, std::size_t most,
         AnalysisResult& result) {
  const std::size_t shown = most == 0 ? findings.size() : std::min(most, findings.size());
  result.answer = finding_sentences(std::span(findings).first(shown), step_ns, has_steps);
  if (shown < findings.size())
    result.answer.push_back(
        fmt::format("{} smaller ones: `headroom trace findings`", findings.size() - shown));
  DataTable table = finding_table(findings);
  table.is_in_answer = true;
  result.tables.insert(result.tables.begin(), std::move(table));
  double recoverable = 0;
  for (const Finding& finding : findings) recoverable += finding.recoverable_ns;
  result.headlines.push_back({"recoverable_ns", Kind::kTimeNs, true, recoverable, ""});
}

/// The steps of a rank, for combine.
struct RankSteps {
  std::int64_t count = 0;  ///< 0: none in the trace
  double step_ns = 0;
};

DataTable step_table(const FindingSearch& search) {
  return {kStepTable,
          "steps",
          {{"steps", "steps", Kind::kCount}, {"step_ns", "mean step", Kind::kTimeNs}},
          {{count_cell(search.steps().size()), search.step_ns()}},
          true};
}

struct RankFindings {
  std::int64_t rank = 0;
  RankSteps steps;
  std::vector<Finding> findings;
};

RankFindings rank_findings(const RankResult& rank) {
  const StoredRows steps(stored_table(rank.result.tables, kStepTable, 1));
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

/// Idle time before work without a launch in the file, which no finding can explain.
std::string unexplained(const FindingSearch& search) {
  constexpr double kMuchIdle = 0.2;
  std::int64_t idle = 0;
  for (const DeviceGap& gap : search.culprits().gaps) {
    if (gap.next != kNone && gap.call == kNone) idle = saturating_add(idle, gap.time.end - gap.time.start);
  }
  const std::int64_t window = search.window().end - search.window().start;
  const double share = Breakdown::share_of(idle, window);
  if (share < kMuchIdle) return "";
  return fmt::format(
      "devices have nothing to do for {} of the time before work whose launch is not in the file: record the "
      "CPU, too "
      "(ProfilerActivity.CPU), to learn why",
      format_percent(share));
}

/// Adds first the step time if everything of a name took no time: host operators, calls, annotations and
/// functions that match the glob, with the GPU work that they launch, and matching GPU work. Adds the
/// headline "without_ns", per step. Throws Error if nothing matches.
void add_without(const FindingSearch& search, const std::string& pattern, AnalysisResult& result) {
  const Trace& trace = search.trace();
  const Events& events = trace.events;
  const std::vector<bool> fits = names_that_fit(trace, pattern);
  WhatIf what_if;
  std::vector<Span> host;
  std::size_t calls = 0, works = 0;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (!fits[events.name[event]] || (mask_of(events.category[event]) & kOnCpu) == 0) continue;
    host.push_back({events.start_ns[event], events.end_ns(event)});
    ++calls;
  }
  what_if.host_gone = merged(std::move(host));
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    const bool is_gone = fits[events.name[event]] || is_inside(search, fits, search.launch()[row]);
    works += is_gone ? 1 : 0;
    what_if.duration_ns.push_back(is_gone ? WhatIf::kGone : events.duration_ns[event]);
  }
  if (calls + works == 0)
    throw Error(fmt::format(
        "--without {}: nothing in {} is called so; `headroom trace ops` and `kernels` have the names, "
        "* stands for any characters",
        in_quotes(pattern), in_quotes(trace.source)));
  const double step_ns = search.step_ns();
  const double without_ns = static_cast<double>(search.replay().length_ns(what_if)) / search.step_count();
  result.headlines.push_back({"without_ns", Kind::kTimeNs, true, without_ns, ""});
  result.answer.insert(
      result.answer.begin(),
      fmt::format(
          "without {} ({} calls of the host, {} pieces of device work) {} would take {} in place of {} (-{})",
          in_quotes(pattern), calls, works, search.steps().empty() ? "the trace" : "a step",
          format_time_ns(without_ns), format_time_ns(step_ns), format_percent(1 - without_ns / step_ns)));
}

}  // namespace

const char* to_string(FindingKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

FindingKind finding_kind(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) throw Error(fmt::format("no kind of finding: {}", text));
  return static_cast<FindingKind>(found - kNames.begin());
}

void sort_findings(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, std::greater{}, &Finding::recoverable_ns);
}

DataTable finding_table(std::span<const Finding> findings) {
  DataTable table{kFindingTable,
                  "what to fix first, by what a step would gain",
                  {{"kind", "kind", Kind::kText},
                   {"recoverable_ns", "gain per step", Kind::kTimeNs},
                   {"share", "of the step", Kind::kShare},
                   {"rank", "rank", Kind::kCount},
                   {"step", "step", Kind::kCount},
                   {"at_ns", "at", Kind::kInstantNs},
                   {"where", "where", Kind::kText},
                   {"op", "operator", Kind::kText},
                   {"module", "module", Kind::kText},
                   {"line", "line of Python", Kind::kText},
                   {"evidence", "evidence", Kind::kText},
                   {"fix", "what to do", Kind::kText}},
                  {}};
  for (const Finding& finding : findings) {
    table.rows.push_back({std::string(to_string(finding.kind)), finding.recoverable_ns, finding.share,
                          number_cell(finding.rank), number_cell(finding.step), finding.at_ns,
                          text_cell(place_text(finding)), text_cell(finding.op), text_cell(finding.module),
                          text_cell(finding.line), finding.evidence, finding.fix});
  }
  return table;
}

std::vector<Finding> findings_of(const DataTable& table) {
  const StoredRows rows(table);
  std::vector<Finding> findings;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Finding finding;
    finding.kind = finding_kind(rows.text(row, "kind"));
    finding.recoverable_ns = rows.number(row, "recoverable_ns");
    finding.share = rows.number(row, "share");
    finding.rank = rows.integer_or(row, "rank", -1);
    finding.step = rows.integer_or(row, "step", -1);
    finding.at_ns = rows.integer(row, "at_ns");
    finding.op = rows.text(row, "op");
    finding.module = rows.text(row, "module");
    finding.line = rows.text(row, "line");
    finding.evidence = rows.text(row, "evidence");
    finding.fix = rows.text(row, "fix");
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<std::string> finding_sentences(std::span<const Finding> findings, double step_ns,
                                           bool has_steps) {
  const char* const of = has_steps ? "a step" : "the trace";
  if (findings.empty())
    return {fmt::format("nothing found that would make {} noticeably shorter ({})",
                        has_steps ? "a step" : "the trace", format_time_ns(step_ns))};
  std::vector<std::string> say;
  std::size_t number = 0;
  for (const Finding& finding : findings) {
    std::string text = fmt::format("{}. {}: {} of {} {} ({})", ++number, to_string(finding.kind),
                                   format_time_ns(finding.recoverable_ns), format_time_ns(step_ns), of,
                                   format_percent(finding.share));
    if (const std::string place = place_text(finding); !place.empty()) text += "; " + place;
    say.push_back(text);
    say.push_back("   " + finding.evidence);
    say.push_back("   to do: " + finding.fix);
  }
  return say;
}

void add_findings(const Trace& trace, DeviceWork work, std::size_t most, AnalysisResult& result,
                  const std::string& without) {
  FindingSearch search(trace, std::move(work));
  const std::vector<Finding> findings = search_findings(search);
  say(findings, search.step_ns(), !search.steps().empty(), most, result);
  if (!without.empty()) add_without(search, without, result);
  if (std::string text = unexplained(search); !text.empty()) result.notes.push_back(std::move(text));
  result.tables.push_back(step_table(search));
  if (std::ranges::find(result.tables, kCollectiveTable, &DataTable::key) == result.tables.end())
    result.tables.push_back(collective_table(search.calls()));
}

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
  say(findings, step_ns, has_steps, most, result);
}

}  // namespace headroom::trace
