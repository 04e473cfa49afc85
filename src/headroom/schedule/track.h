// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/experiment/state.h"
#include "headroom/record/record.h"
#include "headroom/schedule/plan.h"
#include "headroom/stats/compare.h"

namespace headroom {

struct Reading {
  std::uint32_t round = 0;
  std::uint32_t epoch = 0;  ///< incremented when a runner process is replaced
  double ns = 0;            ///< per iteration
  SampleNoise noise{};
  DeviceNoise device{};
  std::vector<double> columns{};    ///< per iteration, for the column metrics of the case
  std::vector<RankSample> ranks{};  ///< of a rank job, per iteration; `ns` is the slowest rank's
};

struct CountedPass {
  std::uint32_t epoch = 0;
  WorkCounts counts{};  ///< per iteration
};

struct Track {
  int id = 0;  ///< in the runner protocol
  PlannedCase planned;
  Outcome outcome;  ///< kMeasured while the case can be sampled
  CaseInfo info;
  std::uint64_t iterations = 1;  ///< per sample
  std::uint64_t lead_in = 0;
  double calibrated_ns = 0;  ///< per iteration
  double waited_ns = 0;      ///< wall time per iteration, untimed parts included
  std::vector<Reading> readings;
  std::vector<std::int64_t> pids;  ///< by epoch
  std::vector<CountedPass> counted{};
  std::string uncounted{};        ///< why a requested count failed
  std::uint64_t calls_after = 0;  ///< iterations after the last sample
  std::string trace;
  std::string untraced;                ///< why a requested trace failed
  std::vector<Conclusion> reported{};  ///< from the last process, one per rank
  std::set<std::string> changed{};     ///< Conclusion::changed of all processes
  Notes notes{};                       ///< for its records, besides those from the readings

  bool out_of_time = false;  ///< before the first reading
  bool rests = false;        ///< a limit that a faster one replaced

  bool alive() const { return outcome.kind == Outcome::Kind::kMeasured; }
  bool is_sampled() const { return alive() && !rests; }
};

/// Hot if there was only one copy of the inputs.
inline Caches measured_caches(const Track& track) {
  return track.alive() && track.info.copies == 1 ? Caches::kHot : track.planned.spec.caches;
}

/// The resource that a limit case measures.
enum class Resource { kRead, kWrite, kCopy, kPeak, kExchange, kPingPong };

struct LimitTrack {
  Resource resource = Resource::kRead;
  Track track;
  std::string ranks{};  ///< of the bounded cases in a rank job
};

struct GroupResult {
  std::string title;
  std::vector<Track> cases;
  std::vector<LimitTrack> limits;
  StopReason stop = StopReason::kNone;
  std::string lost{};                 ///< why a runner was lost for good
  bool of_commands = false;           ///< cases are commands (command/command_rounds.h)
  Look look = Look::kLast;            ///< stopping depended on the ratios of commands
  bool reached_exact_rounds = false;  ///< the exact number of runs was requested
};

/// Ns per iteration after each process's warm-up.
Series steady_series(std::span<const Reading> readings);

/// Counts by epoch.
std::vector<std::size_t> warmup_by_process(std::span<const Reading> readings);

/// The wider relative half-width of two 95 % intervals: of the median and of the ratio to the first case.
/// Infinity without one, 0 for a dead case.
std::vector<double> half_widths(std::span<const Track> cases);
/// Nothing if a case has no interval.
std::optional<double> worst_half_width(std::span<const double> half_widths);

/// Uses the last readings, for progress displays; constant cost.
std::optional<double> recent_median_ns(std::span<const Reading> readings);

/// Has enough of a running group to rebuild its records: a line for all but the readings, repeated on change,
/// and a line of readings per round.
class GroupJournal {
 public:
  explicit GroupJournal(std::function<void(const Json&)> write) : write_(std::move(write)) {}

  /// Call after each round.
  void note(const GroupResult& result);

 private:
  /// Detects changes.
  using Shape = std::vector<std::tuple<bool, std::size_t, std::uint64_t>>;

  std::function<void(const Json&)> write_;
  std::string title_;
  Shape shape_;
  std::vector<std::size_t> written_;  ///< readings, by track
};

/// Applies a line of GroupJournal. Returns false for other lines. Throws Error for a damaged line.
bool replay(const Json& line, GroupResult& result);

}  // namespace headroom
