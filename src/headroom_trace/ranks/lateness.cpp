// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/ranks/lateness.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"

namespace headroom::trace {
namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
/// A rank is last if it comes later than the one before it by more than this, and by more than this share of
/// a step.
constexpr double kLeastLateNs = 1000, kLeastLateShare = 0.01;

/// A rank in a collective: it works on its own from the end of its previous one, arrives, and leaves.
/// Times count from the first collective, on aligned clocks.
struct Visit {
  std::size_t rank = 0;
  std::int64_t iteration = -1;
  std::size_t previous = kNowhere;  ///< its visit of the last collective that ended before
  double from_ns = 0;               ///< without `previous`: when its own work began
  double own_ns = 0, peers_ns = 0;  ///< own work; the median of the others that meet here
  double start_ns = 0, end_ns = 0;
  double exposed_ns = 0, hidden_ns = 0;  ///< of the stay: without and with computing beside it
  double after_ns = 0;                   ///< from the last rank's arrival to the end
};

/// Consecutive visits.
struct Meeting {
  std::size_t first = 0, end = 0;
};

std::vector<double> medians_of_others(std::span<const double> values) {
  std::vector<double> others, medians;
  for (std::size_t i = 0; i < values.size(); ++i) {
    others.assign(values.begin(), values.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    medians.push_back(quantile_in_place(others, 0.5));
  }
  return medians;
}

/// Above this size the median of all stands for the median of the others.
constexpr std::size_t kLargeGroup = 64;

class JobReplay {
 public:
  JobReplay(std::span<const RankRecord> ranks, std::span<const MatchedCollective> matched,
            std::span<const double> offsets, double step_ns)
      : ranks_(ranks), offsets_(offsets), step_ns_(step_ns), root_(ranks.size()) {
    if (matched.empty()) return;
    origin_ = matched.front().parts.front().call->start_ns;
    std::iota(root_.begin(), root_.end(), std::size_t{0});
    add_meetings(matched);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) root_[rank] = root_of(rank);
    set_starts();
    is_first_.resize(visits_.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) set_own_work(rank);
    for (const Meeting& meeting : meetings_) set_peers(meeting);
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
    for (const Meeting& meeting : meetings_) {
      const auto [last, lead] = last_of(meeting);
      for (std::size_t i = meeting.first; i < meeting.end; ++i) {
        const Visit& visit = visits_[i];
        ++found.collectives[visit.rank];
        found.waited_ns[visit.rank] += std::min(visits_[last].start_ns - visit.start_ns, visit.exposed_ns);
      }
      const Visit& visit = visits_[last];
      const double late = std::min(visit.own_ns - visit.peers_ns, lead);
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

  void add_meetings(std::span<const MatchedCollective> matched) {
    std::vector<std::pair<double, const MatchedCollective*>> by_arrival;
    for (const MatchedCollective& collective : matched) {
      double latest = -std::numeric_limits<double>::infinity();
      for (const Part& part : collective.parts)
        latest = std::max(latest, aligned(part.rank, part.call->start_ns));
      by_arrival.emplace_back(latest, &collective);
    }
    std::ranges::stable_sort(by_arrival, {}, &std::pair<double, const MatchedCollective*>::first);
    for (const auto& [latest, collective] : by_arrival) {
      Meeting meeting{visits_.size(), visits_.size() + collective->parts.size()};
      for (const Part& part : collective->parts) {
        const CollectiveCall& call = *part.call;
        Visit visit;
        visit.rank = part.rank;
        visit.iteration = call.iteration;
        visit.start_ns = aligned(part.rank, call.start_ns);
        visit.end_ns = aligned(part.rank, call.end_ns());
        visit.exposed_ns = static_cast<double>(call.exposed_ns);
        visit.hidden_ns = static_cast<double>(call.duration_ns - call.exposed_ns);
        visit.after_ns = visit.end_ns - latest;
        visit_of_[&call] = visits_.size();
        visits_.push_back(visit);
        root_[root_of(part.rank)] = root_of(collective->parts.front().rank);
      }
      meetings_.push_back(meeting);
    }
  }

  /// Finds where each visit of the rank comes from: its last call that ended before.
  void set_own_work(std::size_t rank) {
    std::vector<const CollectiveCall*> by_end, by_start;
    for (const CollectiveCall& call : ranks_[rank].calls) by_start.push_back(&call);
    by_end = by_start;
    std::ranges::stable_sort(by_end, {}, &CollectiveCall::end_ns);
    std::ranges::stable_sort(by_start, {}, &CollectiveCall::start_ns);
    std::size_t ended = 0;
    for (const CollectiveCall* call : by_start) {
      while (ended < by_end.size() && by_end[ended]->end_ns() <= call->start_ns) ++ended;
      const auto found = visit_of_.find(call);
      if (found == visit_of_.end()) continue;
      Visit& visit = visits_[found->second];
      if (ended == 0) {
        visit.from_ns = first_work(rank, visit.start_ns);
      } else {
        const auto previous = visit_of_.find(by_end[ended - 1]);
        // An earlier collective that lies later after alignment cannot be followed.
        if (previous != visit_of_.end() && previous->second < found->second)
          visit.previous = previous->second;
        visit.from_ns = aligned(rank, by_end[ended - 1]->end_ns());
      }
      visit.own_ns = visit.start_ns - visit.from_ns;
      is_first_[found->second] = ended == 0;
    }
  }

  /// When the work before a rank's first collective began. A rank with nothing recorded before it counts from
  /// the first recording of all.
  double first_work(std::size_t rank, double start) const {
    const double begin = begin_of(rank);
    return begin < start ? begin : std::min(start, begin_of(first_to_start_));
  }

  void set_peers(const Meeting& meeting) {
    std::vector<double> own;
    bool shows_lateness = true;
    for (std::size_t i = meeting.first; i < meeting.end; ++i) {
      own.push_back(visits_[i].own_ns);
      shows_lateness = shows_lateness && (!is_first_[i] || start_spread_ns_ <= step_ns_);
    }
    const std::vector<double> others =
        own.size() <= kLargeGroup ? medians_of_others(own) : std::vector<double>(own.size(), median(own));
    for (std::size_t i = meeting.first; i < meeting.end; ++i)
      visits_[i].peers_ns = shows_lateness ? others[i - meeting.first] : visits_[i].own_ns;
  }

  /// The last to arrive, and by how much after the one before it.
  std::pair<std::size_t, double> last_of(const Meeting& meeting) const {
    std::size_t last = meeting.first;
    for (std::size_t i = meeting.first; i < meeting.end; ++i) {
      if (visits_[i].start_ns > visits_[last].start_ns) last = i;
    }
    double lead = std::numeric_limits<double>::infinity();
    for (std::size_t i = meeting.first; i < meeting.end; ++i) {
      if (i != last) lead = std::min(lead, visits_[last].start_ns - visits_[i].start_ns);
    }
    return {last, lead};
  }

  /// Costs of those ranks that were late anywhere; of very many, the latest.
  void set_costs(std::span<const double> excess, Lateness& found) const {
    constexpr std::size_t kMostReplays = 64;
    std::vector<std::size_t> late;
    for (std::size_t rank = 0; rank < excess.size(); ++rank) {
      if (excess[rank] > 0) late.push_back(rank);
    }
    std::ranges::stable_sort(late, std::greater{}, [&](std::size_t rank) { return excess[rank]; });
    late.resize(std::min(late.size(), kMostReplays));
    const std::vector<double> recorded = lengths(kNowhere);
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

  /// By root of connected ranks: the end of their last collective if this rank (number of ranks: any) took no
  /// longer than its peers; kNowhere: as recorded. A rank goes on when the collective has ended, and the
  /// computing that hid it.
  std::vector<double> lengths(std::size_t prompt) const {
    std::vector<double> start(visits_.size()), done(visits_.size());
    std::vector<double> lengths(ranks_.size(), -std::numeric_limits<double>::infinity());
    for (const Meeting& meeting : meetings_) {
      double latest = -std::numeric_limits<double>::infinity();
      for (std::size_t i = meeting.first; i < meeting.end; ++i) {
        const Visit& visit = visits_[i];
        const bool is_prompt = prompt == visit.rank || prompt == ranks_.size();
        const double from = visit.previous == kNowhere ? visit.from_ns : done[visit.previous];
        start[i] = from + (is_prompt ? std::min(visit.own_ns, visit.peers_ns) : visit.own_ns);
        latest = std::max(latest, start[i]);
      }
      for (std::size_t i = meeting.first; i < meeting.end; ++i) {
        done[i] = std::max(latest + visits_[i].after_ns, start[i] + visits_[i].hidden_ns);
        double& length = lengths[root_of(visits_[i].rank)];
        length = std::max(length, done[i]);
      }
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
  std::int64_t origin_ = 0;  ///< doubles do not hold the ns of a date
  std::size_t first_to_start_ = 0, last_to_start_ = 0;
  double start_spread_ns_ = 0;
  std::vector<std::size_t> root_;  ///< by rank: another that collectives connect it with, at last itself
  std::vector<Visit> visits_;      ///< meeting by meeting
  std::vector<Meeting> meetings_;  ///< by the arrival of the last rank
  std::vector<bool> is_first_;     ///< by visit: nothing before it on its rank
  std::unordered_map<const CollectiveCall*, std::size_t> visit_of_;
};

}  // namespace

Lateness job_lateness(std::span<const RankRecord> ranks, std::span<const MatchedCollective> matched,
                      std::span<const double> offsets, double step_ns) {
  return JobReplay(ranks, matched, offsets, step_ns).lateness();
}

std::string start_note(const Lateness& lateness, std::span<const RankResult> ranks, double step_ns,
                       bool has_steps) {
  constexpr double kOfStep = 0.1, kOfTrace = 0.01;
  if (lateness.start_spread_ns <= (has_steps ? kOfStep : kOfTrace) * step_ns) return "";
  return fmt::format("rank {} began to record {} after rank {}: nobody counts as late for that time",
                     ranks[lateness.last_to_start].rank, format_time_ns(lateness.start_spread_ns),
                     ranks[lateness.first_to_start].rank);
}

}  // namespace headroom::trace
