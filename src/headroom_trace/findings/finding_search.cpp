// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/findings/finding_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "headroom/base/units.h"
#include "headroom/tables/width.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {
FindingSearch::FindingSearch(const TraceIndex& index)
    : index_(index), trace_(index.trace()), replay_(index, index.window()), python_(trace_) {
  for (const std::string_view line : python_.lines()) is_own_.push_back(is_user_line(line));
  recorded_ns_ = now_ns_ = replay_.length_ns();
  const std::int64_t total = index.device_windows().length_ns;
  std::int64_t computing = 0, allowed = 0;
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const Span window = device_windows()[i];
    const std::int64_t compute = length_within(devices()[i].compute, window);
    computing = std::max(computing, compute);
    allowed = std::max(allowed, window.end - window.start - compute);
  }
  if (devices().empty()) allowed = total;
  total_ns_ = static_cast<double>(total);
  // If hardly anything computes, gains are relative to a quarter of the step.
  constexpr std::int64_t kLeastReference = 4;
  reference_ns_ = static_cast<double>(std::max(computing, total / kLeastReference)) / step_count();
  allowed_ns_ = static_cast<double>(allowed) / step_count();
}

std::string FindingSearch::per_step(double total_ns) const {
  return format_time_ns(total_ns / step_count()) + (steps().empty() ? "" : "/step");
}

bool FindingSearch::is_in_window(std::uint32_t row) const {
  const std::uint32_t event = trace_.gpu[row].event, call = launch()[row];
  const auto& start_ns = trace_.events.start_ns;
  if (call != kNone) return start_ns[call] >= window().start && start_ns[call] < window().end;
  return trace_.events.end_ns(event) > window().start && start_ns[event] < window().end;
}

std::vector<DeviceGap> FindingSearch::launched_gaps() const {
  std::vector<DeviceGap> gaps = culprits().gaps;
  std::erase_if(gaps, [&](const DeviceGap& gap) { return gap.call == kNone || !is_in_window(gap.next); });
  return gaps;
}

std::string FindingSearch::on_devices() const {
  return devices().size() < 2 ? "" : " summed over " + std::to_string(devices().size()) + " devices";
}

bool FindingSearch::has_found(FindingKind kind, std::string_view place) const {
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    if (findings_[i].kind == kind && std::ranges::find(parts_[i].places, place) != parts_[i].places.end())
      return true;
  }
  return false;
}

std::string FindingSearch::where(std::uint32_t event) const {
  constexpr std::size_t kMostName = 100;
  Finding place;
  set_place(event, place);
  std::string text(first_columns(place.op, kMostName));
  if (!place.line.empty() && place.line != place.op) text += " (" + place.line + ")";
  return text;
}

std::uint32_t FindingSearch::main_event(std::span<const std::pair<std::uint32_t, std::int64_t>> times) const {
  struct Sum {
    std::uint32_t event = kNone;
    std::int64_t time_ns = 0;
  };
  // By name, as checkpointing calls modules from elsewhere.
  std::map<std::tuple<std::string_view, std::uint32_t, NameId>, Sum> sums;
  for (const auto& [event, time_ns] : times) {
    if (event == kNone) continue;
    const auto [module, line] = module_and_line(event);
    const std::uint32_t site = site_of(trace_, parent(), event);
    const bool is_placed = module != kNone || line != kNone;
    const std::string_view name = module == kNone ? std::string_view() : python_.modules()[module].name;
    Sum& sum = sums[{name, line, is_placed ? kNoName : trace_.events.name[site == kNone ? event : site]}];
    if (sum.event == kNone) sum.event = event;
    sum.time_ns = saturating_add(sum.time_ns, time_ns);
  }
  const auto most =
      std::ranges::max_element(sums, {}, [](const auto& entry) { return entry.second.time_ns; });
  return most == sums.end() ? kNone : most->second.event;
}

std::pair<std::uint32_t, std::uint32_t> FindingSearch::module_and_line(std::uint32_t event) const {
  const PythonStack stack = python_.stack_of(python_.place_of(event).key);
  const auto own = std::ranges::find_if(stack.lines, [&](std::uint32_t line) { return is_own_[line]; });
  return {stack.module, own == stack.lines.end() ? kNone : *own};
}

Spans FindingSearch::idle_during(HostActivity doing) const {
  if (devices().empty() && doing == HostActivity::kDataLoading)
    return intersect(data_loading(trace_), {window()});
  std::vector<Span> spans;
  for (const IdlePart& part : culprits().parts) {
    if (part.doing == doing) spans.push_back(part.time);
  }
  return merged(std::move(spans));
}

std::uint32_t FindingSearch::longest_event(HostActivity doing) const {
  if (devices().empty()) return kNone;
  const IdlePart* longest = nullptr;
  for (const IdlePart& part : culprits().parts) {
    if (part.doing == doing && part.event != kNone &&
        (longest == nullptr || part.length_ns() > longest->length_ns()))
      longest = &part;
  }
  return longest == nullptr ? kNone : longest->event;
}

double FindingSearch::gain_ns(const WhatIf& what_if) const {
  return static_cast<double>(now_ns_ - replay_.length_ns(removed_.what_if + what_if)) / step_count();
}

bool FindingSearch::take(CandidateCause candidate) {
  const Removed cause{std::move(candidate.what_if), candidate.fused_ns};
  Removed all = removed_ + cause;
  const std::int64_t length = replay_.length_ns(all.what_if);
  const double gain =
      std::min(static_cast<double>(now_ns_ - length) / step_count(), limit_ns(all.fused_ns) - saved_ns_);
  if (gain <= 0 || !is_enough(gain, candidate.least_gain)) return false;
  std::optional<Removed>& removed = parts_[add(std::move(candidate), gain)].removed;
  if (!removed) {
    removed = Removed{{}, 0, 1};
    ++all.findings;
  }
  removed = *removed + cause;
  removed_ = std::move(all);
  now_ns_ = length;
  saved_ns_ += gain;
  return true;
}

Finding* FindingSearch::one_of_kind(FindingKind kind) {
  if (kind != FindingKind::kLaunchBound && kind != FindingKind::kHostBound) return nullptr;
  const auto found = std::ranges::find(findings_, kind, &Finding::kind);
  return found == findings_.end() ? nullptr : &*found;
}

std::size_t FindingSearch::add(CandidateCause candidate, double gain_ns) {
  Finding* finding = one_of_kind(candidate.kind);
  if (finding == nullptr) {
    finding = &findings_.emplace_back();
    parts_.emplace_back();
    finding->kind = candidate.kind;
    finding->evidence = std::move(candidate.evidence);
  } else {
    finding->evidence += candidate.more;
  }
  const auto number = static_cast<std::size_t>(finding - findings_.data());
  Parts& parts = parts_[number];
  parts.time = unite(parts.time, candidate.time);
  parts.places.push_back(std::move(candidate.place));
  finding->recoverable_ns += gain_ns;
  set_times(parts.time, *finding);
  if (parts.places.size() == 1 || candidate.event_ns > parts.event_ns) {
    parts.event_ns = candidate.event_ns;
    finding->fix = std::move(candidate.fix);
    set_place(candidate.event, *finding);
    // Of the kernel, not the enclosing operator.
    if (finding->kind == FindingKind::kKernelBelowRoof) finding->op = parts.places.back();
  }
  return number;
}

double FindingSearch::saved_ns(const Removed& removed) const {
  const bool is_all = removed.findings == removed_.findings;
  const std::int64_t length = is_all ? now_ns_ : replay_.length_ns(removed.what_if);
  const double saved = static_cast<double>(recorded_ns_ - length) / step_count();
  return std::clamp(saved, 0.0, std::max(0.0, limit_ns(removed.fused_ns)));
}

void FindingSearch::set_partner(std::span<const Removed* const> removed, std::span<Finding> findings) const {
  constexpr std::size_t kFirst = 3;
  constexpr double kNearlyAll = 0.9;
  Finding& last = findings.back();
  const double off_ns = std::abs(last.recoverable_ns - last.further_ns);
  double most_ns = 0;
  for (std::size_t i = 0; i < std::min(findings.size() - 1, kFirst) && most_ns < kNearlyAll * off_ns; ++i) {
    if (removed[i] == nullptr) continue;
    const double other_ns = findings[i].recoverable_ns, together_ns = saved_ns(*removed[i] + *removed.back());
    const double by_ns = std::abs(last.recoverable_ns + other_ns - together_ns);
    if (by_ns <= most_ns || !are_dependent(last.recoverable_ns, other_ns, together_ns)) continue;
    most_ns = by_ns;
    last.partner = static_cast<std::int64_t>(i);
    last.together_ns = together_ns;
  }
}

std::vector<Finding> FindingSearch::findings() const {
  std::vector<std::pair<Finding, const Removed*>> sorted;
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    const Removed* const removed = parts_[i].removed ? &*parts_[i].removed : nullptr;
    Finding& finding = sorted.emplace_back(findings_[i], removed).first;
    if (removed != nullptr) finding.recoverable_ns = saved_ns(*removed);
    finding.share = finding.recoverable_ns / step_ns();
  }
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& one) { return one.first.recoverable_ns; });
  constexpr double kIndependent = 0.1;
  std::vector<Finding> findings;
  std::vector<const Removed*> removed;
  Removed before;
  double before_ns = 0;
  for (const auto& [found, cause] : sorted) {
    Finding& finding = findings.emplace_back(found);
    removed.push_back(cause);
    finding.further_ns = finding.recoverable_ns;
    if (cause == nullptr) continue;
    before = before + *cause;
    if (before.findings == 1) {
      before_ns = finding.recoverable_ns;
      continue;
    }
    const double together_ns = std::max(before_ns, saved_ns(before));
    finding.further_ns = together_ns - std::exchange(before_ns, together_ns);
    if (std::abs(finding.recoverable_ns - finding.further_ns) > kIndependent * finding.recoverable_ns)
      set_partner(removed, findings);
  }
  return findings;
}

void FindingSearch::set_times(const Spans& time, Finding& finding) const {
  finding.at_ns = window().start;
  finding.step = -1;
  std::int64_t most = 0, longest = 0;
  for (const Span& span : time) {
    if (span.end - span.start > longest) {
      longest = span.end - span.start;
      finding.at_ns = span.start;
    }
  }
  for (const Step& step : steps()) {
    const std::int64_t inside = length_within(time, {step.start_ns, step.end_ns});
    if (inside > most) {
      most = inside;
      finding.step = step.number;
    }
  }
}

void FindingSearch::set_place(std::uint32_t event, Finding& finding) const {
  finding.op.clear();
  finding.module.clear();
  finding.line.clear();
  if (event == kNone) return;
  const std::uint32_t site = site_of(trace_, parent(), event);
  finding.op = trace_.event_name(site == kNone ? event : site);
  const auto [module, line] = module_and_line(event);
  if (module != kNone) finding.module = python_.modules()[module].name;
  if (line != kNone) finding.line = python_.lines()[line];
}

std::vector<Finding> search_findings(FindingSearch& search) {
  using Cause = void (*)(FindingSearch&);
  constexpr Cause kSpent[] = {find_host_activities, find_slow_calls,     find_late_devices,
                              find_long_host_work,  find_exposed_copies, find_exposed_communication};
  constexpr Cause kDelays[] = {find_device_allocation, find_fusions, find_synchronisation, find_host_bound,
                               find_launch_bound};
  constexpr Cause kOthers[] = {find_slow_steps, find_kernels_below_roof, find_fragmentation};
  for (const Cause cause : kSpent) cause(search);
  for (const Cause cause : kDelays) cause(search);
  for (const Cause cause : kOthers) cause(search);
  return search.findings();
}

}  // namespace headroom::trace
