// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/runner/protocol.h"
#include "headroom/stats/stopping.h"

namespace headroom {

struct RunnerOffer {
  std::string label;  ///< unique in the session
  std::vector<ExperimentDescription> experiments;
  bool only_limits = false;  ///< not requested by the user
  bool traces = false;
  std::vector<DeviceDescription> devices{};  ///< other than the CPU
  std::optional<BlasLibrary> blas{};         ///< empty if unknown
  std::vector<RankHello> ranks{};            ///< by rank, in a rank job
  bool is_companion = false;                 ///< measures only named experiments or those of others
  bool counts = false;
};

struct Selection {
  std::vector<std::string> names;  ///< or patterns ("ge*"); empty: all but limits and those on request
  std::string filter{};            ///< regular expression of the cases to measure; empty: all
  std::vector<AxisRequest> axes;
  std::vector<std::string> backends;  ///< empty: the first of each experiment; "all": every one
  std::vector<int> threads{};         ///< empty: as the experiment declares
  int default_threads = 1;
  Caches caches = Caches::kCold;
  std::uint64_t seed = 1;
  bool keep_wrong = false;     ///< time cases with wrong results, marked
  std::size_t most_bytes = 0;  ///< skip cases that need more; 0: the machine's memory
};

struct PlannedCase {
  std::size_t runner = 0;
  CaseSpec spec;
  std::string metric;  ///< empty: derived from the work
  std::string device;
  bool is_limit = false;
  std::vector<std::string> variants{};      ///< for tuning
  std::vector<std::string> also_metrics{};  ///< shown with the headline
  std::string model{};                      ///< as published
  bool each_rank_counts = false;            ///< in a rank job: instead of the slowest
  std::string trace{};                      ///< empty: chosen by the session
  std::size_t baseline = 0;                 ///< index in the group, for ratios
};

/// Compared cases at one point of the axes, sampled in the same rounds.
struct Group {
  std::string title;
  std::vector<PlannedCase> cases;
  std::optional<StopRule> stop{};  ///< replaces the session's rule
};

/// "gemv D=4096".
std::string case_title(const std::string& experiment, const AxisTexts& point);

/// All combinations, the last axis varying fastest.
std::vector<AxisTexts> axis_points(const std::vector<Axis>& axes,
                                   const std::function<std::vector<std::string>(const Axis&)>& values);

std::vector<int> thread_counts(const ExperimentDescription& experiment, const Selection& selection);

int max_threads(const std::vector<Group>& groups);

/// `runner` indexes the session's offers.
PlannedCase planned_case(std::size_t runner, const ExperimentDescription& experiment, const AxisTexts& point,
                         const std::string& backend, int threads, const Selection& selection);

/// Follows the order of experiments and axes. Throws Error for an unknown experiment, axis, backend or value,
/// or an empty selection.
std::vector<Group> plan(const std::vector<RunnerOffer>& offers, const Selection& selection);

/// "FOLDER/gemv_D=1024_dtype=bf16.aten.json", with the runner if several have the experiment. Special
/// characters become '_'; long names end in a hash.
std::string trace_file(const std::string& folder, const std::string& title, const PlannedCase& planned,
                       const std::vector<RunnerOffer>& offers);

}  // namespace headroom
