// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What Holistic Trace Analysis (HTA 0.6.1) does with a trace and we do not. Each is a member that can be
/// turned off: with all of them its figures follow from our columns, with none of them they are ours.
struct HtaWays {
  /// Starts are rounded up and ends down to whole microseconds, in doubles.
  bool rounds = true;
  /// Which can leave work that ends before it starts: it takes time away.
  bool keeps_reversed_work = true;
  /// Where a file has two or more steps, only work whose launch is in the file; and only what was launched
  /// before the last ProfilerStep annotation starts, the later of the one of the CPU and its copy on the GPU.
  enum class Steps { kBeforeLast, kLaunched, kAll } steps = Steps::kBeforeLast;
  /// Synchronisations with a stream are work.
  bool counts_syncs = true;
  /// An idle interval is from the end of the work before, not from the latest end: it is negative where work
  /// overlaps on a stream. Those of no length are counted.
  bool idles_from_work_before = true;
  /// Work whose launch is not in the file was launched by the file's first event.
  bool missing_launch_is_first_event = true;
  /// Communication is what NCCL and its likes call so; symmetric memory's multimem_all_reduce is computing.
  bool knows_few_communications = true;
  /// The operators of torch.compile's Triton kernels, which carry their stream, are work of that stream.
  bool counts_triton_operators = true;
};

struct HtaEvent {
  std::uint32_t event = 0;  ///< row of Trace::events
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t stream = -1;      ///< -1: on the CPU, for HTA
  std::uint32_t launch = kNone;  ///< row of Trace::events
  std::int64_t duration_ns() const { return end_ns - start_ns; }
};

/// HTA's view of a trace, and its analyses of that view.
class HtaView {
 public:
  HtaView(const Trace& trace, const HtaWays& ways);

  /// The events as a trace for our own analyses; work that ends before it starts gets no duration.
  Trace as_trace() const;

  struct Temporal {
    std::int64_t idle_ns = 0, compute_ns = 0, non_compute_ns = 0, span_ns = 0;
    bool operator==(const Temporal&) const = default;
  };
  /// Nothing where the non-compute time is negative: HTA stops at an assertion.
  std::optional<Temporal> temporal() const;

  struct Overlap {
    std::int64_t both_ns = 0, communication_ns = 0;
    bool operator==(const Overlap&) const = default;
    /// Two decimals; nothing where there is no communication (HTA: NaN).
    std::optional<double> percent() const;
  };
  Overlap overlap() const;

  /// Time (ns) and number of the intervals by (stream, cause).
  using Idle = std::map<std::pair<std::int64_t, std::string>, std::pair<std::int64_t, std::int64_t>>;
  Idle idle() const;

  struct Launch {
    std::int64_t launches = 0;
    std::int64_t call_total_ns = 0, call_max_ns = 0, gpu_total_ns = 0, gpu_max_ns = 0, delay_total_ns = 0,
                 delay_max_ns = 0;
    void add(std::int64_t call_ns, std::int64_t gpu_ns, std::int64_t delay_ns);
    bool operator==(const Launch&) const = default;
  };
  /// Of the functions that HTA knows.
  Launch launch() const;
  static bool knows_launch_function(std::string_view name);

 private:
  using Interval = std::pair<std::int64_t, std::int64_t>;
  template <typename Wanted>
  std::vector<Interval> merged_intervals(Wanted wanted) const;
  HtaEvent seen(std::uint32_t event) const;
  bool is_communication(const HtaEvent& event) const;
  bool is_compute(const HtaEvent& event) const;
  bool is_on_gpu(const HtaEvent& event) const;
  void keep_launched(std::vector<HtaEvent> gpu, std::vector<HtaEvent> cpu, std::int64_t last_step_ns);
  std::string_view name_of(const HtaEvent& event) const {
    return trace_.names[trace_.events.name[event.event]];
  }

  const Trace& trace_;
  HtaWays ways_;
  std::vector<KernelType> types_;
  std::vector<HtaEvent> events_;
};

}  // namespace headroom::trace
