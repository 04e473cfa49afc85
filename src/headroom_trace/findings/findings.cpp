// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/findings/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/finding_search.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {
namespace {

std::vector<bool> matching_names(const Trace& trace, const std::string& pattern) {
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

std::string without_launch_note(const FindingSearch& search) {
  constexpr double kMuchIdle = 0.2;
  std::int64_t idle = 0;
  for (const DeviceGap& gap : search.culprits().gaps) {
    if (gap.next != kNone && gap.call == kNone) idle = saturating_add(idle, gap.time.end - gap.time.start);
  }
  std::int64_t whole = 0;
  for (const Span& span : search.device_windows()) whole = saturating_add(whole, span.end - span.start);
  const double share = Breakdown::share_of(idle, whole);
  if (share < kMuchIdle) return "";
  return fmt::format("GPU idle {} of the time before work without a recorded launch, cause unknown: {}",
                     format_percent(share), search.advice(Advice::kRecordLaunches));
}

/// Throws Error if nothing matches.
void add_without(const FindingSearch& search, const std::string& pattern, AnalysisResult& result) {
  const Trace& trace = search.trace();
  const Events& events = trace.events;
  const std::vector<bool> fits = matching_names(trace, pattern);
  WhatIf what_if;
  std::vector<Span> host;
  std::size_t calls = 0, works = 0;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (!fits[events.name[event]] || (mask_of(events.category[event]) & kOnCpu) == 0) continue;
    host.push_back({events.start_ns[event], events.end_ns(event)});
    ++calls;
  }
  what_if.host_removed = merged(std::move(host));
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    const bool is_removed = fits[events.name[event]] || is_inside(search, fits, search.launch()[row]);
    works += is_removed ? 1 : 0;
    what_if.duration_ns.push_back(is_removed ? WhatIf::kRemoved : events.duration_ns[event]);
  }
  if (calls + works == 0)
    throw Error(
        fmt::format("--without {}: nothing in {} matches; `headroom trace ops` and `kernels` list the names, "
                    "* matches any characters",
                    quote(pattern), quote(trace.source)));
  const double step_ns = search.step_ns();
  const std::int64_t shorter = search.replay().length_ns() - search.replay().length_ns(what_if);
  const double without_ns = step_ns - static_cast<double>(shorter) / search.step_count();
  result.headlines.push_back({"without_ns", Kind::kTimeNs, true, without_ns});
  result.answer.insert(
      result.answer.begin(),
      fmt::format("without {} ({} CPU calls, {} GPU events) {} would take {} instead of {} (-{})",
                  quote(pattern), calls, works, search.steps().empty() ? "the trace" : "a step",
                  format_time_ns(without_ns), format_time_ns(step_ns),
                  format_percent(1 - without_ns / step_ns)));
}

}  // namespace

void sort_findings(std::vector<Finding>& findings) {
  std::vector<std::size_t> order(findings.size()), place(findings.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return findings[i].recoverable_ns; });
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<Finding> sorted;
  for (const std::size_t i : order) {
    sorted.push_back(findings[i]);
    sorted.back().partner = -1;
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].partner < 0) continue;
    const auto [first, later] = std::minmax(place[i], place[static_cast<std::size_t>(findings[i].partner)]);
    sorted[later].partner = static_cast<std::int64_t>(first);
    sorted[later].together_ns = findings[i].together_ns;
  }
  findings = std::move(sorted);
}

double joint_gain_ns(std::span<const Finding> first) {
  double sum = 0, largest = 0;
  for (const Finding& finding : first) {
    sum += finding.further_ns;
    largest = std::max(largest, finding.recoverable_ns);
  }
  return std::max(sum, largest);
}

bool are_dependent(double gain_ns, double other_ns, double together_ns) {
  constexpr double kOfLarger = 0.1, kOfSmaller = 0.5;
  const double off_ns = std::abs(gain_ns + other_ns - together_ns);
  return off_ns > kOfLarger * std::max(gain_ns, other_ns) ||
         off_ns > kOfSmaller * std::min(gain_ns, other_ns);
}

TraceFindings add_findings(const TraceIndex& index, std::size_t most, AnalysisResult& result,
                           const std::string& without) {
  if (!has_times(index.trace())) {
    result.answer.emplace_back(kNoTimes);
    return {};
  }
  FindingSearch search(index);
  TraceFindings found{{}, step_shares(index, search.step_ns(), true)};
  // Otherwise the causes of idle time are unknown.
  if (found.shares.known != DeviceTimeStatus::kIncomplete) found.findings = search_findings(search);
  report_findings(found.findings, found.shares, most, result);
  if (!without.empty()) add_without(search, without, result);
  if (std::string text = step_note(index.steps()); !text.empty()) result.notes.push_back(std::move(text));
  if (std::string text = without_launch_note(search); !text.empty()) result.notes.push_back(std::move(text));
  return found;
}

namespace {

void add_idle(const IdleCulprits& culprits, double whole_ns, StepShares& shares) {
  const auto is_unknown = [](const DeviceGap& gap) { return gap.next != kNone && gap.call == kNone; };
  for (const IdlePart& part : culprits.parts) {
    const double share = static_cast<double>(part.length_ns()) / whole_ns;
    if (part.doing == HostActivity::kNotRecorded || is_unknown(culprits.gaps[part.gap])) {
      shares.not_recorded += share;
    } else {
      shares.idle_during[static_cast<std::size_t>(part.doing)] += share;
    }
  }
}

const char* unit_of(const StepShares& shares) {
  return shares.has_steps() ? "step" : "trace";
}

/// Ignores slow kernels, slow steps and fragmentation.
double explained(const StepShares& shares, std::span<const Finding> findings) {
  std::vector<Finding> of_lost;
  std::ranges::copy_if(findings, std::back_inserter(of_lost), [](const Finding& finding) {
    return finding.kind != FindingKind::kKernelBelowRoof && finding.kind != FindingKind::kSlowStep &&
           finding.kind != FindingKind::kFragmentation;
  });
  return std::clamp(joint_gain_ns(of_lost) / shares.step_ns, 0.0, shares.lost());
}

std::string savings_text(const StepShares& shares, std::span<const Finding> findings) {
  constexpr std::size_t kFirst = 3;
  if (findings.empty()) return "no findings";
  const std::size_t count = std::min(kFirst, findings.size());
  const double gain_ns = joint_gain_ns(findings.first(count));
  constexpr std::array<const char*, kFirst> kSavings{"the finding saves", "two findings save",
                                                     "first three findings save"};
  return fmt::format("{} {}", kSavings.at(count - 1),
                     format_percent(std::min(1.0, gain_ns / shares.step_ns)));
}

std::string parts_text(const StepShares& shares) {
  constexpr double kSmall = 0.01;
  constexpr std::size_t kMost = 4;
  std::vector<std::pair<double, std::string>> parts{{shares.exposed_communication, "exposed communication"},
                                                    {shares.exposed_copies, "exposed copies"},
                                                    {shares.not_recorded, "GPU idle (cause not recorded)"}};
  for (std::size_t i = 0; i < kHostActivities; ++i) {
    const auto doing = static_cast<HostActivity>(i);
    parts.emplace_back(shares.idle_during[i], doing == HostActivity::kNotTheHost
                                                  ? "GPU idle (waiting for another device or an event)"
                                                  : fmt::format("GPU idle ({})", to_string(doing)));
  }
  std::ranges::stable_sort(parts, std::greater{}, [](const auto& part) { return part.first; });
  std::vector<std::string> texts;
  for (const auto& [share, what] : parts) {
    if (share >= kSmall && texts.size() < kMost)
      texts.push_back(fmt::format("{} {}", what, format_percent(share)));
  }
  return join(texts, ", ");
}

}  // namespace

StepShares step_shares(const TraceIndex& index, double step_ns, bool has_host) {
  StepShares shares;
  shares.step_ns = step_ns;
  shares.steps = std::ssize(index.steps().measured());
  if (index.trace().gpu.empty()) return shares;
  shares.known = DeviceTimeStatus::kAfterSteps;
  if (index.steps().is_device_behind()) return shares;
  shares.known = DeviceTimeStatus::kIncomplete;
  const std::vector<bool>& is_whole = index.steps().is_whole;
  if (!is_whole.empty() && std::ranges::find(is_whole, true) == is_whole.end()) return shares;
  const std::vector<Span>& windows = index.device_windows().by_device;
  double whole_ns = 0;
  for (const Span& window : windows) whole_ns += static_cast<double>(window.end - window.start);
  if (whole_ns <= 0) return shares;
  shares.known = DeviceTimeStatus::kYes;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const DeviceTimes& device = index.devices()[i];
    const auto share_of = [&](const Spans& spans) {
      return static_cast<double>(length_within(spans, windows[i])) / whole_ns;
    };
    const double communication = share_of(subtract(device.communication, device.compute));
    const double copies = share_of(subtract(subtract(device.memory, device.compute), device.communication));
    shares.exposed_communication += communication;
    shares.exposed_copies += copies;
    shares.busy += share_of(device.compute) + communication + copies;
  }
  if (has_host) add_idle(index.idle(), whole_ns, shares);
  return shares;
}

StepShares mean_of(std::span<const StepShares> ranks) {
  StepShares mean;
  const auto count = static_cast<double>(ranks.size());
  mean.known = DeviceTimeStatus::kYes;
  const bool have_steps = std::ranges::all_of(ranks, &StepShares::has_steps);
  for (const StepShares& rank : ranks) {
    mean.known = std::max(mean.known, rank.known);
    mean.step_ns += rank.step_ns / count;
    mean.steps = have_steps ? std::max(mean.steps, rank.steps) : 0;
    for (double StepShares::*const share : {&StepShares::busy, &StepShares::exposed_communication,
                                            &StepShares::exposed_copies, &StepShares::not_recorded})
      mean.*share += rank.*share / count;
    for (std::size_t doing = 0; doing < kHostActivities; ++doing)
      mean.idle_during[doing] += rank.idle_during[doing] / count;
  }
  return mean;
}

double unexplained(const StepShares& shares, std::span<const Finding> findings) {
  return shares.lost() - explained(shares, findings);
}

std::string step_line(const StepShares& shares) {
  std::string text = fmt::format("{} {}", unit_of(shares), format_time_ns(shares.step_ns));
  if (!shares.is_known()) return text + " · GPU busy: unknown";
  return text + fmt::format(" · GPU busy {} · exposed communication {}", format_percent(shares.busy),
                            format_percent(shares.exposed_communication));
}

std::vector<std::string> standing_lines(const StepShares& shares, std::span<const Finding> findings) {
  if (shares.step_ns <= 0) return {};
  std::vector<std::string> lines{step_line(shares) + " · " + savings_text(shares, findings)};
  if (!shares.is_known()) {
    lines.push_back(fmt::format("GPU idle share of the {} unknown: {}", unit_of(shares),
                                shares.known == DeviceTimeStatus::kNoWork ? "no GPU work in the file"
                                : shares.known == DeviceTimeStatus::kAfterSteps
                                    ? "GPU work comes after the last step"
                                    : "work launched by the steps is not in the file"));
    return lines;
  }
  const double lost = shares.lost(), found = explained(shares, findings);
  const double not_recorded = std::min(shares.not_recorded, lost - found);
  lines.push_back(
      fmt::format("GPU idle or exposed {} of the {}; findings explain {} of that, {} is not recorded",
                  format_percent(lost), unit_of(shares), format_percent(lost > 0 ? found / lost : 0),
                  format_percent(lost > 0 ? not_recorded / lost : 0)));
  if (lost - found > kHighLoss)
    lines.push_back(fmt::format("no finding explains the other {} of the {}; all losses: {}",
                                format_percent(lost - found), unit_of(shares), parts_text(shares)));
  return lines;
}

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
                  {Column::text("kind"), Column::time("recoverable_ns", "gain per step"),
                   Column::time("further_ns", "additional gain"), Column::share("share", "of the step"),
                   Column::count("rank"), Column::count("step"), Column::instant("at_ns"),
                   Column::text("where"), Column::text("op", "operator"), Column::text("module"),
                   Column::text("line", "Python line"), Column::text("evidence"), Column::text("fix")}};
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
    const std::string text =
        fmt::format("{}. {}: saves {} of {}{} ({}{})", ++number, to_string(finding.kind),
                    format_time_ns(finding.recoverable_ns), format_time_ns(step_ns), has_steps ? "/step" : "",
                    format_percent(finding.share), has_steps ? "" : " of the trace");
    say.push_back(text);
    if (const std::string place = place_text(finding); !place.empty()) say.push_back("   " + place);
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
  result.headlines.push_back({"recoverable_ns", Kind::kTimeNs, true, joint_gain_ns(findings)});
}

}  // namespace headroom::trace
