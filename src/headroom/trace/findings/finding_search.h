// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/trace/collectives/collective_calls.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/critical_path/replay.h"
#include "headroom/trace/findings/finding.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/idle_culprits.h"
#include "headroom/trace/work/python_places.h"

namespace headroom::trace {

/// What a cause would be gone with, and what is said of it if that gains enough.
struct Suspicion {
  FindingKind kind = FindingKind::kHostBound;
  WhatIf what_if;
  double least_gain = 0.01;     ///< of the step as it would be without anything idle or exposed
  std::uint32_t event = kNone;  ///< where it is, of the host; kNone where nobody knows
  Spans time;                   ///< what the cause takes: the step that loses most is found by it
  std::string evidence, fix;
  /// Of kinds of which a trace has one finding, whatever adds to it (host_bound, launch_bound): the name of
  /// what is gone here, and what is said of it after the evidence of what was there before.
  std::string place, more;
  /// How much of it is where `event` is: a finding of several is said to be where most is, else where the
  /// first is.
  std::int64_t event_ns = 0;
};

/// The search for what a trace's steps lose: the causes are tried one after the other, each on top of those
/// that were found before it, so that no microsecond is counted twice. What all of them gain together is held
/// to the idle and exposed time of the devices and the time of kernels that a fusion takes away.
class FindingSearch {
 public:
  /// `work` is device_work(trace). Needs kLaunches and kOps; kSyncs, kPython and kOpArguments make it know
  /// more.
  FindingSearch(const Trace& trace, DeviceWork work);

  const Trace& trace() const { return trace_; }
  const std::vector<std::uint32_t>& launch() const { return launch_; }
  const std::vector<std::uint32_t>& parent() const { return host_.parent; }  ///< in all that the host does
  const IdleCulprits& culprits() const { return culprits_; }
  const Replay& replay() const { return replay_; }
  const std::vector<DeviceTimes>& devices() const { return devices_; }
  const std::vector<KernelType>& types() const { return types_; }      ///< by row of Trace::gpu
  const std::vector<CollectiveCall>& calls() const { return calls_; }  ///< collective_calls(trace)
  const std::vector<Step>& steps() const { return steps_; }
  Span window() const { return replay_.window(); }
  double step_count() const { return steps_.empty() ? 1.0 : static_cast<double>(steps_.size()); }
  double step_ns() const { return static_cast<double>(length_ns_) / step_count(); }
  /// "4.90 ms a step" of a time of all steps; "4.90 ms" without steps.
  std::string per_step(double total_ns) const;
  /// Whether something of that kind and place was taken.
  bool has_found(FindingKind kind, std::string_view place) const;
  /// "aten::randperm (train.py(12): augment)": the operator or function that an event belongs to, and the
  /// user's own line around it, where it is known; empty for kNone.
  std::string where(std::uint32_t event) const;
  /// The event at whose place in Python most of the time is that these take: events of the host, each with
  /// its time. Without Python that of the operator with the most; kNone for none.
  std::uint32_t main_event(std::span<const std::pair<std::uint32_t, std::int64_t>> times) const;

  /// The idle times of the devices in which the host did that; without devices all times in which it did, of
  /// data loading.
  Spans idle_while(HostDoing doing) const;
  /// The longest of them and what the host had open in it; kNone for none.
  std::uint32_t longest_event(HostDoing doing) const;

  /// What a step would gain now, ns.
  double gain_ns(const WhatIf& what_if) const;
  /// Whether so much of the step would be worth a word.
  bool is_enough(double gain_ns, double least_gain) const { return gain_ns >= least_gain * reference_ns_; }
  /// Keeps it as a finding and counts on its being gone, if that gains enough; false if not.
  bool take(Suspicion suspicion);
  /// A finding that no what-if is about: computing that could be faster, steps that are slow.
  /// Its place among the findings.
  std::size_t add(Suspicion suspicion, double gain_ns);
  /// What the time of kernels that are taken away adds to what can be gained.
  void allow_more(std::int64_t fused_ns) { allowed_ns_ += static_cast<double>(fused_ns) / step_count(); }

  double allowed_ns() const { return allowed_ns_; }  ///< what may still be gained, per step

  /// What is taken from now on is shared: waits, allocations and launches make each other worse (a wait lets
  /// the device run dry, and then every launch counts), and what either of two could save is no more the
  /// one's than the other's.
  void end_direct() { direct_ = taken_.size(); }
  /// What was found, by gain; of what is shared the mean of what each gains from the first of them to the
  /// last and from the last to the first. The gains sum to what all gain together.
  std::vector<Finding> findings() const;

 private:
  /// The finding that a suspicion adds to, where its kind has one for all; else nullptr.
  Finding* one_of_kind(FindingKind kind);
  void set_times(const Spans& time, Finding& finding) const;
  void set_place(std::uint32_t event, Finding& finding) const;
  /// The innermost module and line of the user's own around an event; kNone each.
  std::pair<std::uint32_t, std::uint32_t> module_and_line(std::uint32_t event) const;

  const Trace& trace_;
  DeviceWork work_;
  std::vector<std::uint32_t> launch_;
  HostOrder host_;
  std::vector<Step> steps_;
  Replay replay_;
  IdleCulprits culprits_;
  std::vector<KernelType> types_;
  std::vector<CollectiveCall> calls_;
  std::vector<DeviceTimes> devices_;
  std::int64_t length_ns_ = 0;                ///< of the whole window, as it was
  std::int64_t now_ns_ = 0;                   ///< without what was found
  double reference_ns_ = 0, allowed_ns_ = 0;  ///< per step
  WhatIf gone_;
  PythonPlaces python_;
  std::vector<bool> is_own_;  ///< by line of it: the user's, not a library's
  std::vector<Finding> findings_;
  /// What each of them is made of.
  struct Parts {
    Spans time;
    std::int64_t event_ns = 0;
    std::vector<std::string> places;
  };
  std::vector<Parts> parts_;
  /// The taken what-ifs in their order, each with its finding and its gain then.
  struct Taken {
    std::size_t finding;
    WhatIf what_if;
    double gain_ns;
  };
  std::vector<Taken> taken_;
  std::size_t direct_ = 0;  ///< how many of them are not shared
};

/// Every cause that is looked for: first time that host and devices spend (direct), then times at which
/// something comes (shared), then what no what-if is about.
std::vector<Finding> search_findings(FindingSearch& search);

// The causes. Each looks for its own and takes what gains enough.
void find_data_loading(FindingSearch& search);
void find_device_allocation(FindingSearch& search);
void find_recompilation(FindingSearch& search);
void find_garbage_collection(FindingSearch& search);
void find_exposed_copies(FindingSearch& search);
void find_exposed_communication(FindingSearch& search);
void find_fusions(FindingSearch& search);
void find_long_host_work(FindingSearch& search);  ///< one thing of the host that takes long
void find_synchronisation(FindingSearch& search);
void find_host_bound(FindingSearch& search);
void find_launch_bound(FindingSearch& search);
void find_slow_steps(FindingSearch& search);
void find_kernels_below_roof(FindingSearch& search);
void find_fragmentation(FindingSearch& search);

}  // namespace headroom::trace
