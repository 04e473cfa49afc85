// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {

/// Events of one name, or at one place.
struct WorkSum {
  std::int64_t count = 0, total_ns = 0;
  WorkSum& operator+=(const WorkSum& other) {
    count += other.count;
    total_ns = saturating_add(total_ns, other.total_ns);
    return *this;
  }
};
using WorkByName = std::map<std::string, WorkSum>;

/// A trace, or the ranks of a job together, summed by name: what two of can be compared.
struct TraceProfile {
  WorkByName kernels;      ///< work of the devices
  WorkByName ops;          ///< operators, with what they call
  WorkByName annotations;  ///< record_function and the steps, these as one
  WorkByName calls;        ///< of the runtime and the driver
  /// Work of the devices by its place in the tree: the names of the annotations and ops around its launch,
  /// the outermost first, then its own: "ProfilerStep > aten::linear > aten::addmm > sgemm".
  WorkByName places;
  std::int64_t steps = 0;  ///< of the profiler
  std::int64_t traces = 0;
  std::int64_t without_step = 0;  ///< work of the devices that is in no step: its launch is not in the file
};

struct ProfileOptions {
  /// Only that ProfilerStep: what the CPU starts in it, and the work of devices that is launched in it.
  std::optional<std::int64_t> step;
  bool whole_names = false;  ///< of kernels; else short_name.h
};

inline constexpr Needs kProfileNeeds = Needs::kLaunches | Needs::kOps;

/// Throws Error where the step is not in the trace. Needs kProfileNeeds.
TraceProfile profile_of(const Trace& trace, const ProfileOptions& options = {});

/// Adds what is in `other` to `sum`.
void add(TraceProfile& sum, const TraceProfile& other);

}  // namespace headroom::trace
