// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/collectives/collective_matching.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "headroom/stats/quantile.h"

namespace headroom::trace {
namespace {

/// The calls of one group, by the ranks that have it; each in the order of its indices.
using GroupCalls = std::vector<std::pair<std::size_t, std::vector<const CollectiveCall*>>>;

double offset_of(std::span<const double> offsets, std::size_t rank) {
  return offsets.empty() ? 0 : offsets[rank];
}

bool is_one_collective(const MatchedCollective& collective) {
  const CollectiveCall& first = *collective.parts.front().call;
  return std::ranges::all_of(collective.parts, [&](const Part& part) {
    return part.call->collective == first.collective &&
           (first.collective != "all_reduce" || part.call->bytes == first.bytes);
  });
}

/// Some moment lies in the kernels of all ranks.
bool is_at_one_time(const MatchedCollective& collective, std::span<const double> offsets) {
  double latest_start = -std::numeric_limits<double>::infinity(), first_end = -latest_start;
  // Relative to one of them: doubles do not hold the ns of a date.
  const std::int64_t origin = collective.parts.front().call->start_ns;
  for (const Part& part : collective.parts) {
    const double offset = offset_of(offsets, part.rank);
    latest_start = std::max(latest_start, static_cast<double>(part.call->start_ns - origin) - offset);
    first_end = std::min(first_end, static_cast<double>(part.call->end_ns() - origin) - offset);
  }
  return latest_start <= first_end;
}

bool has_one_index(const MatchedCollective& collective) {
  return std::ranges::all_of(collective.parts, [&](const Part& part) {
    return part.call->index == collective.parts.front().call->index;
  });
}

struct Pairing {
  std::vector<MatchedCollective> good;
  std::vector<UnmatchedCall> bad;
};

void reject(const MatchedCollective& collective, const char* reason, Pairing& pairing) {
  for (const Part& part : collective.parts) pairing.bad.push_back({part, reason});
}

Pairing pair_by_index(const GroupCalls& group, std::size_t ranks) {
  Pairing pairing;
  std::vector<MatchedCollective> complete;
  std::size_t most = 0;
  for (const auto& [rank, calls] : group) most = std::max(most, calls.size());
  for (std::size_t index = 0; index < most; ++index) {
    MatchedCollective collective;
    for (const auto& [rank, calls] : group) {
      if (index < calls.size()) collective.parts.push_back({rank, calls[index]});
    }
    if (collective.parts.size() < group.size()) {
      reject(collective, "not in the trace of every rank of the group", pairing);
    } else if (!is_one_collective(collective)) {
      reject(collective, "the ranks disagree on what it is", pairing);
    } else {
      complete.push_back(std::move(collective));
    }
  }
  const std::vector<double> offsets = clock_offsets(ranks, complete);
  for (MatchedCollective& collective : complete) {
    if (is_at_one_time(collective, offsets)) {
      pairing.good.push_back(std::move(collective));
    } else {
      reject(collective, "not at the same time on all ranks", pairing);
    }
  }
  return pairing;
}

/// The next call of each rank together, when they overlap; else the one that ended first has no partner.
Pairing pair_by_time(const GroupCalls& group) {
  Pairing pairing;
  std::vector<std::size_t> next(group.size(), 0);
  while (true) {
    MatchedCollective heads;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto& [rank, calls] = group[i];
      if (next[i] < calls.size()) heads.parts.push_back({rank, calls[next[i]]});
    }
    if (heads.parts.size() < group.size()) {
      reject(heads, "not in the trace of every rank of the group", pairing);
      break;
    }
    if (is_at_one_time(heads, {}) && is_one_collective(heads)) {
      for (std::size_t& place : next) ++place;
      pairing.good.push_back(std::move(heads));
      continue;
    }
    const auto first =
        std::ranges::min_element(heads.parts, {}, [](const Part& part) { return part.call->end_ns(); });
    pairing.bad.push_back({*first, "at no time with one of every rank of the group"});
    ++next[static_cast<std::size_t>(first - heads.parts.begin())];
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto& [rank, calls] = group[i];
    for (std::size_t place = next[i] + 1; place < calls.size(); ++place)
      pairing.bad.push_back({{rank, calls[place]}, "not in the trace of every rank of the group"});
  }
  return pairing;
}

std::map<std::pair<std::string, std::string>, GroupCalls> groups_of(
    std::span<const std::vector<CollectiveCall>> ranks) {
  std::map<std::pair<std::string, std::string>, GroupCalls> groups;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const CollectiveCall& call : ranks[rank]) {
      GroupCalls& group = groups[{call.group, call.group_ranks}];
      if (group.empty() || group.back().first != rank) group.push_back({rank, {}});
      group.back().second.push_back(&call);
    }
  }
  for (auto& [key, group] : groups) {
    for (auto& [rank, calls] : group) std::ranges::stable_sort(calls, {}, &CollectiveCall::index);
  }
  return groups;
}

using CandidateKey = std::pair<std::int64_t, std::string>;
/// By iteration, by rank: the last long call.
using LastCalls = std::map<std::int64_t, std::map<std::size_t, const CollectiveCall*>>;

/// Mean over the iterations that several ranks have of the deviation of the durations between them.
StragglerCandidate candidate_of(const CandidateKey& key, const LastCalls& calls, double mean_iteration_ns) {
  StragglerCandidate candidate{key.first, key.second};
  double sum = 0;
  for (const auto& [iteration, by_rank] : calls) {
    if (by_rank.size() < 2) continue;
    std::vector<double> durations;
    for (const auto& [rank, call] : by_rank)
      durations.push_back(static_cast<double>(call->duration_ns) / mean_iteration_ns);
    sum += standard_deviation(durations);
    ++candidate.iterations;
  }
  if (candidate.iterations > 0) candidate.spread = sum / static_cast<double>(candidate.iterations);
  return candidate;
}

}  // namespace

CollectiveMatches match_collectives(std::span<const std::vector<CollectiveCall>> ranks) {
  CollectiveMatches matches;
  for (const auto& [key, group] : groups_of(ranks)) {
    if (group.size() < 2) {
      for (const CollectiveCall* call : group.front().second)
        matches.unmatched.push_back(
            {{group.front().first, call}, "the group is in the trace of one rank only"});
      continue;
    }
    Pairing pairing = pair_by_index(group, ranks.size());
    if (!pairing.bad.empty()) {
      // Where both explain as much, the one that needs no offset of the clocks: collectives come at regular
      // times, so that an offset of one period makes up for an index that is off by one.
      Pairing by_time = pair_by_time(group);
      if (!by_time.good.empty() && by_time.good.size() >= pairing.good.size()) {
        if (!std::ranges::all_of(by_time.good, has_one_index)) matches.groups_by_time.push_back(key.first);
        pairing = std::move(by_time);
      }
    }
    std::ranges::move(pairing.good, std::back_inserter(matches.matched));
    matches.unmatched.insert(matches.unmatched.end(), pairing.bad.begin(), pairing.bad.end());
  }
  std::ranges::stable_sort(matches.matched, {}, [](const MatchedCollective& collective) {
    return collective.parts.front().call->start_ns;
  });
  return matches;
}

std::vector<double> clock_offsets(std::size_t ranks, std::span<const MatchedCollective> matched) {
  std::vector<std::vector<double>> differences(ranks);
  std::vector<double> ends;
  for (const MatchedCollective& collective : matched) {
    const std::int64_t origin = collective.parts.front().call->end_ns();
    ends.clear();
    for (const Part& part : collective.parts)
      ends.push_back(static_cast<double>(part.call->end_ns() - origin));
    const double middle = median(ends);
    for (std::size_t i = 0; i < ends.size(); ++i)
      differences[collective.parts[i].rank].push_back(ends[i] - middle);
  }
  std::vector<double> offsets(ranks, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (!differences[rank].empty()) offsets[rank] = median(differences[rank]);
  }
  return offsets;
}

Arrival arrival_of(const MatchedCollective& collective, std::span<const double> offsets) {
  Arrival arrival;
  const std::int64_t origin = collective.parts.front().call->start_ns;
  std::vector<double> starts;
  for (const Part& part : collective.parts)
    starts.push_back(static_cast<double>(part.call->start_ns - origin) - offset_of(offsets, part.rank));
  const auto latest = std::ranges::max_element(starts);
  arrival.last_rank = collective.parts[static_cast<std::size_t>(latest - starts.begin())].rank;
  arrival.skew_ns = *latest - *std::ranges::min_element(starts);
  for (const double start : starts) arrival.waits_ns.push_back(*latest - start);
  return arrival;
}

std::int64_t latency_ns(const MatchedCollective& collective) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (const Part& part : collective.parts) shortest = std::min(shortest, part.call->duration_ns);
  return shortest;
}

RankWaits rank_waits(std::size_t ranks, std::span<const MatchedCollective> matched,
                     std::span<const double> offsets) {
  RankWaits waits;
  waits.imposed_ns.resize(ranks);
  waits.waited_ns.resize(ranks);
  waits.last.resize(ranks);
  for (const MatchedCollective& collective : matched) {
    const Arrival arrival = arrival_of(collective, offsets);
    if (arrival.skew_ns > 0) ++waits.last[arrival.last_rank];
    std::vector<double> open;  // the waits that nothing hides, of all but the last
    for (std::size_t i = 0; i < collective.parts.size(); ++i) {
      const Part& part = collective.parts[i];
      if (part.rank == arrival.last_rank) continue;
      const double wait = std::min(arrival.waits_ns[i], static_cast<double>(part.call->exposed_ns));
      waits.waited_ns[part.rank] += wait;
      open.push_back(wait);
    }
    if (open.empty()) continue;
    // Had the last arrived with the one before it, all others would have waited less by that one's wait.
    const double imposed = *std::ranges::min_element(open);
    waits.imposed_ns[arrival.last_rank] += imposed;
    std::vector<double>& by_rank = waits.imposed_by_iteration[collective.parts.front().call->iteration];
    by_rank.resize(ranks);
    by_rank[arrival.last_rank] += imposed;
    open.push_back(0);
    waits.joint_ns += std::max(0.0, median(open) - imposed);
  }
  return waits;
}

StragglerSearch search_stragglers(std::span<const std::vector<CollectiveCall>> ranks,
                                  std::span<const Iterations> iterations, double min_share) {
  StragglerSearch search;
  double total = 0, count = 0;
  search.origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const Iterations& rank : iterations) {
    if (rank.count == 0) continue;
    search.origin_ns = std::min(search.origin_ns, rank.first_start_ns);
    total += static_cast<double>(rank.total_ns);
    count += static_cast<double>(rank.count);
  }
  if (count == 0 || total <= 0) return {};
  search.mean_iteration_ns = total / count;
  const bool has_steps = std::ranges::any_of(ranks, [](const std::vector<CollectiveCall>& calls) {
    return std::ranges::any_of(calls, [](const CollectiveCall& call) { return call.iteration >= 0; });
  });
  std::map<CandidateKey, LastCalls> last;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const CollectiveCall& call : ranks[rank]) {
      if (has_steps && call.iteration < 0) continue;
      if (static_cast<double>(call.duration_ns) < min_share * search.mean_iteration_ns) continue;
      const CollectiveCall*& known = last[{call.stream, call.kernel}][call.iteration][rank];
      if (known == nullptr || call.start_ns >= known->start_ns) known = &call;
    }
  }
  for (const auto& [key, calls] : last)
    search.candidates.push_back(candidate_of(key, calls, search.mean_iteration_ns));
  std::erase_if(search.candidates, [](const StragglerCandidate& one) { return one.iterations == 0; });
  std::ranges::stable_sort(search.candidates, std::greater{}, &StragglerCandidate::spread);
  if (search.candidates.empty()) return search;
  const StragglerCandidate& first = search.candidates.front();
  for (const auto& [iteration, by_rank] : last.at({first.stream, first.kernel})) {
    for (const auto& [rank, call] : by_rank) search.calls.push_back({iteration, rank, call});
  }
  return search;
}

}  // namespace headroom::trace
