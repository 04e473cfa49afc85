// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/critical_path/replay.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/idle_culprits.h"
#include "headroom_trace/work/python_work.h"

namespace headroom::trace {

struct CandidateCause {
  FindingKind kind = FindingKind::kHostBound;
  WhatIf what_if = {};
  double least_gain = 0.01;   ///< share of the step without idle and exposed time
  std::int64_t fused_ns = 0;  ///< time of removed kernels
  std::uint32_t event = kNone;
  Spans time = {};  ///< of the cause; determines the step that loses most
  std::string evidence = {}, fix = {};
  /// For kinds with one finding per trace (host_bound, launch_bound): the part's name, and its text in the
  /// evidence of an earlier part.
  std::string place = {}, more = {};
  /// A finding is placed at the part with most, else at the first.
  std::int64_t event_ns = 0;
};

/// Tries causes of lost time in order, each on top of the earlier ones, and drops those without gain. Gains
/// are limited to the idle and exposed time of the devices plus the time of fused kernels.
class FindingSearch {
 public:
  /// Keeps a reference to the index. Needs kLaunches and kOps; also uses kSyncs, kPython and kOpArguments.
  explicit FindingSearch(const TraceIndex& index);

  const Trace& trace() const { return trace_; }
  const std::vector<std::uint32_t>& launch() const { return index_.launches(); }
  const std::vector<std::uint32_t>& parent() const { return index_.host().parent; }
  const IdleCulprits& culprits() const { return index_.idle(); }
  const Replay& replay() const { return replay_; }
  const std::vector<DeviceTimes>& devices() const { return index_.devices(); }
  const std::vector<StreamOrder>& streams() const { return index_.streams(); }
  const std::vector<KernelType>& types() const { return index_.types(); }
  const std::vector<CollectiveCall>& calls() const { return index_.calls(); }
  std::span<const Step> steps() const { return index_.steps().measured(); }
  Span window() const { return replay_.window(); }
  const std::vector<Span>& device_windows() const { return index_.device_windows().by_device; }
  double step_count() const { return steps().empty() ? 1.0 : static_cast<double>(steps().size()); }
  double step_ns() const { return total_ns_ / step_count(); }
  /// "4.90 ms a step" for a time over all steps; "4.90 ms" without steps.
  std::string per_step(double total_ns) const;
  /// The row of Trace::gpu was launched in the window or, without a known launch, runs in it.
  bool is_in_window(std::uint32_t row) const;
  std::vector<DeviceGap> launched_gaps() const;
  /// " on 8 devices together" for several devices, else "".
  std::string on_devices() const;
  bool has_found(FindingKind kind, std::string_view place) const;
  /// "aten::randperm (train.py(12): augment)"; empty for kNone.
  std::string where(std::uint32_t event) const;
  /// The event whose Python place (without Python: operator) takes most of the (host event, time) pairs; else
  /// kNone.
  std::uint32_t main_event(std::span<const std::pair<std::uint32_t, std::int64_t>> times) const;

  std::string advice(Advice what) const { return trace::advice(what, trace_.writer); }

  /// Device idle times; without devices, all times of data loading.
  Spans idle_during(HostActivity doing) const;
  std::uint32_t longest_event(HostActivity doing) const;

  /// Per step, on top of the earlier findings.
  double gain_ns(const WhatIf& what_if) const;
  bool is_enough(double gain_ns, double least_gain) const { return gain_ns >= least_gain * reference_ns_; }
  const Spans& host_removed() const { return removed_.what_if.host_removed; }
  /// False if it gains too little.
  bool take(CandidateCause candidate);
  /// Without a what-if. Returns its index.
  std::size_t add(CandidateCause candidate, double gain_ns);

  /// Largest further gain per step.
  double allowed_ns() const { return limit_ns(removed_.fused_ns) - saved_ns_; }

  std::vector<Finding> findings() const;

 private:
  struct Removed {
    WhatIf what_if;
    std::int64_t fused_ns = 0;
    std::size_t findings = 0;
  };
  friend Removed operator+(const Removed& a, const Removed& b) {
    return {a.what_if + b.what_if, a.fused_ns + b.fused_ns, a.findings + b.findings};
  }
  double limit_ns(std::int64_t fused_ns) const {
    return allowed_ns_ + static_cast<double>(fused_ns) / step_count();
  }
  double saved_ns(const Removed& removed) const;
  /// Sets the last finding's partner: the earlier finding on which its gain depends most. `removed` is by
  /// finding; nullptr without a what-if.
  void set_partner(std::span<const Removed* const> removed, std::span<Finding> findings) const;
  /// The finding to extend, else nullptr.
  Finding* one_of_kind(FindingKind kind);
  void set_times(const Spans& time, Finding& finding) const;
  void set_place(std::uint32_t event, Finding& finding) const;
  /// Innermost user code around an event; kNone each if unknown.
  std::pair<std::uint32_t, std::uint32_t> module_and_line(std::uint32_t event) const;

  const TraceIndex& index_;
  const Trace& trace_;
  Replay replay_;
  double total_ns_ = 0;
  std::int64_t recorded_ns_ = 0, now_ns_ = 0;  ///< replayed, without and with what-ifs
  double reference_ns_ = 0, allowed_ns_ = 0;   ///< per step; limit of all gains, without fusions
  double saved_ns_ = 0;                        ///< per step
  Removed removed_;                            ///< sum of the findings
  PythonPlaces python_;
  std::vector<bool> is_own_;  ///< by line
  std::vector<Finding> findings_;
  struct Parts {
    Spans time;
    std::int64_t event_ns = 0;
    std::vector<std::string> places;
    std::optional<Removed> removed;
  };
  std::vector<Parts> parts_;
};

/// The order matters: time spent, then delays, then causes without a what-if.
std::vector<Finding> search_findings(FindingSearch& search);

void find_host_activities(FindingSearch& search);
void find_device_allocation(FindingSearch& search);
void find_exposed_copies(FindingSearch& search);
void find_exposed_communication(FindingSearch& search);
void find_fusions(FindingSearch& search);
void find_slow_calls(FindingSearch& search);
void find_late_devices(FindingSearch& search);
void find_long_host_work(FindingSearch& search);
void find_synchronisation(FindingSearch& search);
void find_host_bound(FindingSearch& search);
void find_launch_bound(FindingSearch& search);
void find_slow_steps(FindingSearch& search);
void find_kernels_below_roof(FindingSearch& search);
void find_fragmentation(FindingSearch& search);

}  // namespace headroom::trace
