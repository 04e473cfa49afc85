// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/ranks/lateness.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/ranks/rank_summary.h"

namespace headroom::trace {
namespace {

constexpr std::size_t kNoVisit = std::numeric_limits<std::size_t>::max();
/// Minimum lead of the last rank over the one before, and as a share of a step.
constexpr double kLeastLateNs = 1000, kLeastLateShare = 0.01;

/// Gaps between collectives of a stream: the longest that may be a wait, and the usual one.
constexpr double kNeighbourNs = 30'000, kUsualNeighbourNs = 1'000;
/// Longest usual gap between kernels.
constexpr double kPauseNs = 5'000;

/// Work since the last collective that its computing waited for.
struct OwnWork {
  std::size_t since = kNoVisit;  ///< visit
  double from_ns = 0;            ///< without it
  double ns = 0, peers_ns = 0;   ///< peers: median of the others
};

/// A rank in a collective, on aligned clocks. It arrives after its computing and the preceding collective of
/// its stream.
struct Visit {
  std::size_t rank = 0;
  std::int64_t iteration = -1;
  OwnWork before;                          ///< up to the arrival
  OwnWork beside;                          ///< until the hiding computing ends
  std::size_t ahead_on_stream = kNoVisit;  ///< preceding visit
  double stream_delay_ns = 0;              ///< gap to it
  double start_ns = 0, end_ns = 0;
  double exposed_ns = 0, tail_ns = 0;  ///< without computing: total, last part
  double ready_for_ns = 0;
  double after_ns = 0;  ///< last arrival to end

  bool waits_for_stream() const {
    return ahead_on_stream != kNoVisit && stream_delay_ns < kNeighbourNs && ready_for_ns > stream_delay_ns;
  }
  bool is_partly_hidden() const { return tail_ns < end_ns - start_ns; }
  bool holds_computing() const { return tail_ns > (is_partly_hidden() ? kPauseNs : 0); }
};

struct Rendezvous {
  std::size_t first = 0, end = 0;
};

std::vector<double> leave_one_out_medians(std::span<const double> values) {
  std::vector<double> others, medians;
  for (std::size_t i = 0; i < values.size(); ++i) {
    others.assign(values.begin(), values.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    medians.push_back(quantile_in_place(others, 0.5));
  }
  return medians;
}

/// Above this size, the median of all ranks replaces the median of the others.
constexpr std::size_t kLargeGroup = 64;

class JobReplay {
 public:
  JobReplay(std::span<const RankRecord> ranks, std::span<const MatchedCollective> matched,
            std::span<const double> offsets, double step_ns)
      : ranks_(ranks), offsets_(offsets), step_ns_(step_ns), root_(ranks.size()) {
    if (matched.empty()) return;
    origin_ = matched.front().parts.front().call->start_ns;
    std::iota(root_.begin(), root_.end(), std::size_t{0});
    add_rendezvous(matched);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) root_[rank] = root_of(rank);
    set_starts();
    is_first_.resize(visits_.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) set_own_work(rank);
    for (const Rendezvous& rendezvous : rendezvous_) {
      set_peers(rendezvous, &Visit::before);
      set_peers(rendezvous, &Visit::beside);
    }
  }

  Lateness lateness() const {
    const std::size_t ranks = ranks_.size();
    Lateness found;
    found.cost_ns.resize(ranks);
    found.waited_ns.resize(ranks);
    found.collectives.resize(ranks);
    found.last.resize(ranks);
    found.worst_iteration.assign(ranks, -1);
    found.start_spread_ns = start_spread_ns_;
    found.first_to_start = first_to_start_;
    found.last_to_start = last_to_start_;
    std::vector<double> excess(ranks), worst(ranks);
    std::map<std::pair<std::size_t, std::int64_t>, double> by_iteration;
    for (const Rendezvous& rendezvous : rendezvous_) {
      const auto [last, lead] = last_of(rendezvous);
      for (std::size_t i = rendezvous.first; i < rendezvous.end; ++i) {
        const Visit& visit = visits_[i];
        ++found.collectives[visit.rank];
        found.waited_ns[visit.rank] += std::min(visits_[last].start_ns - visit.start_ns, visit.exposed_ns);
      }
      const Visit& visit = visits_[last];
      const double late = std::min(visit.before.ns - visit.before.peers_ns, lead);
      if (late <= 0) continue;
      if (late > std::max(kLeastLateNs, kLeastLateShare * step_ns_)) ++found.last[visit.rank];
      excess[visit.rank] += late;
      double& in_iteration = by_iteration[{visit.rank, visit.iteration}];
      in_iteration += late;
      if (in_iteration > worst[visit.rank]) {
        worst[visit.rank] = in_iteration;
        found.worst_iteration[visit.rank] = visit.iteration;
      }
    }
    set_costs(excess, found);
    return found;
  }

 private:
  double aligned(std::size_t rank, std::int64_t at) const {
    return static_cast<double>(at - origin_) - offsets_[rank];
  }
  double begin_of(std::size_t rank) const { return aligned(rank, ranks_[rank].recorded.start); }

  void set_starts() {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].recorded.end > ranks_[rank].recorded.start) ranks.push_back(rank);
    }
    if (ranks.empty()) return;
    const auto [first, last] =
        std::ranges::minmax_element(ranks, {}, [this](std::size_t rank) { return begin_of(rank); });
    first_to_start_ = *first;
    last_to_start_ = *last;
    start_spread_ns_ = begin_of(*last) - begin_of(*first);
  }

  void add_rendezvous(std::span<const MatchedCollective> matched) {
    std::vector<std::pair<double, const MatchedCollective*>> by_arrival;
    for (const MatchedCollective& collective : matched) {
      double latest = -std::numeric_limits<double>::infinity();
      for (const Part& part : collective.parts)
        latest = std::max(latest, aligned(part.rank, part.call->start_ns));
      by_arrival.emplace_back(latest, &collective);
    }
    std::ranges::stable_sort(by_arrival, {}, &std::pair<double, const MatchedCollective*>::first);
    for (const auto& [latest, collective] : by_arrival) {
      Rendezvous rendezvous{visits_.size(), visits_.size() + collective->parts.size()};
      for (const Part& part : collective->parts) {
        const CollectiveCall& call = *part.call;
        Visit visit;
        visit.rank = part.rank;
        visit.iteration = call.iteration;
        visit.start_ns = aligned(part.rank, call.start_ns);
        visit.end_ns = aligned(part.rank, call.end_ns());
        visit.exposed_ns = static_cast<double>(call.exposed_ns);
        visit.tail_ns = static_cast<double>(call.exposed_tail_ns);
        visit.ready_for_ns = static_cast<double>(call.ready_for_ns);
        visit.after_ns = visit.end_ns - latest;
        visit_of_[&call] = visits_.size();
        visits_.push_back(visit);
        root_[root_of(part.rank)] = root_of(collective->parts.front().rank);
      }
      rendezvous_.push_back(rendezvous);
    }
  }

  void set_own_work(std::size_t rank) {
    std::vector<std::size_t> visits, held;  // held: those its computing waits for
    for (const CollectiveCall& call : ranks_[rank].calls) {
      if (const auto found = visit_of_.find(&call); found != visit_of_.end()) visits.push_back(found->second);
    }
    std::ranges::stable_sort(visits, {}, [&](std::size_t visit) { return visits_[visit].end_ns; });
    std::ranges::copy_if(visits, std::back_inserter(held),
                         [&](std::size_t visit) { return visits_[visit].holds_computing(); });
    std::map<std::pair<std::int32_t, std::int64_t>, std::size_t> latest;
    for (const CollectiveCall& call : ranks_[rank].calls) {
      const auto found = visit_of_.find(&call);
      if (found == visit_of_.end()) continue;
      Visit& visit = visits_[found->second];
      const auto [ahead, is_first_on_stream] = latest.try_emplace({call.device, call.stream}, found->second);
      if (!is_first_on_stream) follow(found->second, std::exchange(ahead->second, found->second));
      visit.before =
          own_work(found->second, held, visit.start_ns - (visit.waits_for_stream() ? visit.ready_for_ns : 0));
      if (visit.is_partly_hidden())
        visit.beside = own_work(found->second, held, visit.end_ns - visit.tail_ns);
      is_first_[found->second] = visit.before.since == kNoVisit;
    }
  }

  void follow(std::size_t visit, std::size_t ahead) {
    const double delay = visits_[visit].start_ns - visits_[ahead].end_ns;
    if (ahead > visit || delay < 0) return;
    visits_[visit].ahead_on_stream = ahead;
    visits_[visit].stream_delay_ns = delay;
  }

  /// `held` is sorted by end.
  OwnWork own_work(std::size_t visit, std::span<const std::size_t> held, double until) const {
    const std::size_t rank = visits_[visit].rank;
    auto at = std::ranges::upper_bound(held, until, {}, [&](std::size_t one) { return visits_[one].end_ns; });
    if (at != held.begin() && *std::prev(at) == visit) --at;
    OwnWork work;
    if (at == held.begin()) {
      work.from_ns = first_work(rank, until);
    } else {
      work.from_ns = visits_[*std::prev(at)].end_ns;
      work.since = *std::prev(at);
    }
    work.ns = work.peers_ns = until - work.from_ns;
    return work;
  }

  /// Start of the rank's recording, or of the first one if that is too late.
  double first_work(std::size_t rank, double start) const {
    const double begin = begin_of(rank);
    return begin < start ? begin : std::min(start, begin_of(first_to_start_));
  }

  void set_peers(const Rendezvous& rendezvous, OwnWork Visit::*work) {
    std::vector<double> own;
    for (std::size_t i = rendezvous.first; i < rendezvous.end; ++i) {
      if (is_first_[i] && start_spread_ns_ > step_ns_) return;
      own.push_back((visits_[i].*work).ns);
    }
    const std::vector<double> others =
        own.size() <= kLargeGroup ? leave_one_out_medians(own) : std::vector<double>(own.size(), median(own));
    for (std::size_t i = rendezvous.first; i < rendezvous.end; ++i)
      (visits_[i].*work).peers_ns = others[i - rendezvous.first];
  }

  /// The last rank to arrive, and its lead over the one before.
  std::pair<std::size_t, double> last_of(const Rendezvous& rendezvous) const {
    std::size_t last = rendezvous.first;
    for (std::size_t i = rendezvous.first; i < rendezvous.end; ++i) {
      if (visits_[i].start_ns > visits_[last].start_ns) last = i;
    }
    double lead = std::numeric_limits<double>::infinity();
    for (std::size_t i = rendezvous.first; i < rendezvous.end; ++i) {
      if (i != last) lead = std::min(lead, visits_[last].start_ns - visits_[i].start_ns);
    }
    return {last, lead};
  }

  void set_costs(std::span<const double> excess, Lateness& found) const {
    constexpr std::size_t kMostReplays = 64;
    std::vector<std::size_t> late;
    for (std::size_t rank = 0; rank < excess.size(); ++rank) {
      if (excess[rank] > 0) late.push_back(rank);
    }
    std::ranges::stable_sort(late, std::greater{}, [&](std::size_t rank) { return excess[rank]; });
    late.resize(std::min(late.size(), kMostReplays));
    const std::vector<double> recorded = lengths(kNoVisit);
    for (const std::size_t rank : late) {
      const std::size_t root = root_of(rank);
      found.cost_ns[rank] = std::max(0.0, recorded[root] - lengths(rank)[root]);
    }
    const std::vector<double> without = lengths(ranks_.size());
    for (const Visit& visit : visits_) {
      const std::size_t root = root_of(visit.rank);
      found.total_ns = std::max(found.total_ns, recorded[root] - without[root]);
    }
  }

  /// Simulation without the excess work of rank `prompt` (number of ranks: all; kNoVisit: none).
  class Run {
   public:
    Run(const JobReplay& job, std::size_t prompt)
        : job_(job), prompt_(prompt), end_(job.visits_.size(), kNotYet), goes_on_(end_) {
      for (const Rendezvous& rendezvous : job.rendezvous_) meet(rendezvous);
    }
    /// The later of the visit's end and the end of the computing that hid it.
    double goes_on(std::size_t index) {
      const Visit& visit = job_.visits_[index];
      // Alignment may reorder collectives: keep the recorded end.
      if (end_[index] == kNotYet) return visit.end_ns;
      double& at = goes_on_[index];
      if (at == kNotYet)
        at = visit.is_partly_hidden() ? std::max(end_[index], end_of(visit, visit.beside)) : end_[index];
      return at;
    }

   private:
    static constexpr double kNotYet = std::numeric_limits<double>::infinity();

    void meet(const Rendezvous& rendezvous) {
      double latest = -std::numeric_limits<double>::infinity();
      for (std::size_t i = rendezvous.first; i < rendezvous.end; ++i) {
        const Visit& visit = job_.visits_[i];
        latest = std::max(latest, end_of(visit, visit.before));
        if (visit.ahead_on_stream == kNoVisit) continue;
        const double delay = visit.waits_for_stream() ? visit.stream_delay_ns
                                                      : std::min(visit.stream_delay_ns, kUsualNeighbourNs);
        latest = std::max(latest, end_[visit.ahead_on_stream] + delay);
      }
      for (std::size_t i = rendezvous.first; i < rendezvous.end; ++i)
        end_[i] = latest + job_.visits_[i].after_ns;
    }
    double end_of(const Visit& visit, const OwnWork& work) {
      const bool is_prompt = prompt_ == visit.rank || prompt_ == job_.ranks_.size();
      const double from = work.since == kNoVisit ? work.from_ns : goes_on(work.since);
      return from + (is_prompt ? std::min(work.ns, work.peers_ns) : work.ns);
    }

    const JobReplay& job_;
    std::size_t prompt_;
    std::vector<double> end_, goes_on_;  ///< by visit
  };

  /// By root of connected ranks, the end of the last.
  std::vector<double> lengths(std::size_t prompt) const {
    std::vector<double> lengths(ranks_.size(), -std::numeric_limits<double>::infinity());
    Run run(*this, prompt);
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      double& length = lengths[root_of(visits_[i].rank)];
      length = std::max(length, run.goes_on(i));
    }
    return lengths;
  }

  std::size_t root_of(std::size_t rank) const {
    while (root_[rank] != rank) rank = root_[rank];
    return rank;
  }

  std::span<const RankRecord> ranks_;
  std::span<const double> offsets_;
  double step_ns_;
  std::int64_t origin_ = 0;  ///< for double precision
  std::size_t first_to_start_ = 0, last_to_start_ = 0;
  double start_spread_ns_ = 0;
  std::vector<std::size_t> root_;       ///< union-find
  std::vector<Visit> visits_;           ///< by meeting
  std::vector<Rendezvous> rendezvous_;  ///< by last arrival
  std::vector<bool> is_first_;          ///< of its rank
  std::unordered_map<const CollectiveCall*, std::size_t> visit_of_;
};

}  // namespace

Lateness job_lateness(std::span<const RankRecord> ranks, std::span<const MatchedCollective> matched,
                      std::span<const double> offsets, double step_ns) {
  return JobReplay(ranks, matched, offsets, step_ns).lateness();
}

JobCollectives job_collectives(std::span<const RankResult> ranks) {
  JobCollectives job;
  job.calls = calls_of(ranks);
  std::vector<RankRecord> records;
  for (const RankResult& rank : ranks) {
    const RankSummary& summary = summary_of(rank);
    records.push_back({job.calls[records.size()], summary.recorded});
    job.steps = std::max(job.steps, static_cast<double>(summary.steps));
    job.step_ns += summary.shares.step_ns / static_cast<double>(ranks.size());
  }
  job.matches = match_collectives(job.calls);
  job.offsets = clock_offsets(ranks.size(), job.matches.matched);
  job.lateness = job_lateness(records, job.matches.matched, job.offsets, job.step_ns);
  return job;
}

std::string start_note(const Lateness& lateness, std::span<const RankResult> ranks, double step_ns,
                       bool has_steps) {
  constexpr double kOfStep = 0.1, kOfTrace = 0.01;
  if (lateness.start_spread_ns <= (has_steps ? kOfStep : kOfTrace) * step_ns) return "";
  return fmt::format("rank {} started recording {} after rank {}: no rank counts as late in that time",
                     ranks[lateness.last_to_start].rank, format_time_ns(lateness.start_spread_ns),
                     ranks[lateness.first_to_start].rank);
}

}  // namespace headroom::trace
