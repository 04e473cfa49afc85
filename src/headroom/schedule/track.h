// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/experiment/case_spec.h"
#include "headroom/experiment/work_counts.h"
#include "headroom/record/record.h"
#include "headroom/schedule/plan.h"

namespace headroom {

/// One sample of one round.
struct Reading {
  std::uint32_t round = 0;
  std::uint32_t epoch = 0;  ///< changes whenever a runner process is replaced
  double ns = 0;            ///< per iteration
  SampleNoise noise{};
  DeviceNoise device{};
  std::vector<double> columns{};    ///< per iteration: those of the metrics of its case that are columns
  std::vector<RankSample> ranks{};  ///< of a rank job: what each measured, per iteration; `ns` is the slowest
};

/// What the hardware counted of a case after its samples in one process.
struct CountedPass {
  std::uint32_t epoch = 0;
  WorkCounts counts{};  ///< per iteration
};

/// A case in the rounds of its group, and everything that it gave.
struct Track {
  int id = 0;  ///< by which the runner knows it
  PlannedCase planned;
  Outcome outcome;  ///< kMeasured while it can be sampled
  CaseInfo info;
  std::uint64_t iterations = 1;  ///< per sample
  std::uint64_t lead_in = 0;
  double calibrated_ns = 0;  ///< per iteration, as calibration saw it
  double waited_ns = 0;      ///< until a sample was there, per iteration: with what is not timed
  std::vector<Reading> readings;
  std::vector<std::int64_t> pids;  ///< of the runner, by epoch
  std::vector<CountedPass> counted{};
  std::string uncounted{};         ///< why the hardware did not count it, where it was asked to
  std::uint64_t calls_after = 0;   ///< iterations after the last sample of the last process
  std::string trace;               ///< file of the trace; empty: none
  std::string untraced;            ///< why there is none, where one was asked for
  std::vector<Conclusion> told{};  ///< after its last sample, in a job of ranks by each; of the last process

  bool rests = false;  ///< a limit that no more samples are taken of, for another one is faster

  bool alive() const { return outcome.kind == Outcome::Kind::kMeasured; }
  bool is_sampled() const { return alive() && !rests; }
};

/// How the case found its inputs: hot where its body always had the same ones, whatever was asked for.
inline Caches measured_caches(const Track& track) {
  return track.alive() && track.info.copies == 1 ? Caches::kHot : track.planned.spec.caches;
}

/// What a limit case tells about the machine.
enum class Resource { kRead, kWrite, kCopy, kPeak, kExchange, kPingPong };

struct LimitTrack {
  Resource resource = Resource::kRead;
  Track track;
  std::string ranks{};  ///< of the cases that it bounds, in a job of ranks; empty outside of one
};

/// Everything that the rounds of one group gave.
struct GroupResult {
  std::string title;
  std::vector<Track> cases;
  std::vector<LimitTrack> limits;
  StopReason stop = StopReason::kNone;
  std::string lost{};  ///< which runner was lost for good, and how; empty: none
};

}  // namespace headroom
