// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// A runner that takes part, and what it can do.
struct RunnerOffer {
  std::string label;  ///< unique among the runners of a session
  std::vector<ExperimentDescription> experiments;
  bool only_limits = false;  ///< started by us for the machine's limits, not asked for by the user
  bool traces = false;       ///< can record what a case does
  std::vector<DeviceDescription> devices{};  ///< that its cases may run on, other than the CPU
  std::optional<BlasLibrary> blas{};         ///< that its cases compute with; empty: it tells of none
  std::vector<RankHello> ranks{};            ///< of a rank job: what each says of itself
  bool is_company = false;  ///< measures what others have, or what is named, not all that it has
  bool counts = false;      ///< can count what a case does
};

/// Which of the offered cases to measure.
struct Selection {
  std::vector<std::string> names;  ///< experiments; empty: all but limits and those on request
  std::vector<AxisRequest> axes;
  std::vector<std::string> backends;  ///< empty: the first one of each experiment; "all": every one
  std::vector<int> threads{};         ///< of each case, all compared; empty: what the experiment declares
  int default_threads = 1;            ///< where it declares none
  Caches caches = Caches::kCold;
  std::uint64_t seed = 1;
  bool keep_wrong = false;     ///< time what answers wrongly all the same, marked
  std::size_t most_bytes = 0;  ///< skip what needs more memory; 0: what the machine has counts
};

struct PlannedCase {
  std::size_t runner = 0;
  CaseSpec spec;
  std::string metric;  ///< the headline, as the experiment declares it; empty: by its work
  std::string device;
  bool is_limit = false;
  std::vector<std::string> variants{};      ///< among which tuning chooses; empty: there is nothing to choose
  std::vector<std::string> also_metrics{};  ///< that stand beside the headline
  std::string model{};                      ///< that the case runs, as its publisher calls it
  bool each_rank_counts = false;            ///< of a rank job: by itself, not the slowest for all
  std::string trace{};                      ///< where a trace of it goes; empty: as the session has it
  std::size_t baseline = 0;                 ///< the case of its group whose time its own is a ratio of
};

/// Cases that are compared: one experiment at one point of its axes, by all backends and runners that have
/// it. They are sampled in the same rounds.
struct Group {
  std::string title;
  std::vector<PlannedCase> cases;
  std::optional<StopRule> stop{};  ///< where it has one of its own
};

/// The numbers of threads that cases of `experiment` take.
std::vector<int> thread_counts(const ExperimentDescription& experiment, const Selection& selection);

/// The most threads that any case takes.
int most_threads(const std::vector<Group>& groups);

/// One case of `experiment`, which offers[runner] has, at `point`.
PlannedCase planned_case(std::size_t runner, const ExperimentDescription& experiment, const AxisTexts& point,
                         const std::string& backend, int threads, const Selection& selection);

/// Expands the selection over the offers, in the order of the experiments and of their axes.
/// Throws Error: an unknown experiment (with the nearest names), an axis or a backend that no selected
/// experiment has, a value that does not fit its axis, or nothing selected.
std::vector<Group> plan(const std::vector<RunnerOffer>& offers, const Selection& selection);

/// Where in `folder` the trace of a case of the group `title` goes:
/// "FOLDER/gemv_D=1024_dtype=bf16.aten.json". The runner is named too where several have the experiment. What
/// file names are better without becomes '_'; a name that is too long is cut and gets a number that tells it
/// from its like.
std::string trace_file(const std::string& folder, const std::string& title, const PlannedCase& planned,
                       const std::vector<RunnerOffer>& offers);

}  // namespace headroom
