// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/findings/step_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {
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

}  // namespace headroom::trace
