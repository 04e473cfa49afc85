// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/findings/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/finding_search.h"
#include "headroom_trace/findings/finding_text.h"
#include "headroom_trace/findings/step_shares.h"

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

/// Prepends the step time without the events that match the glob and their work. Throws Error if nothing
/// matches.
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
  result.headlines.push_back({"without_ns", Kind::kTimeNs, true, without_ns, ""});
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

}  // namespace headroom::trace
