// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/job_timeline.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

bool is_within_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The name with "…" for its middle, of at most `bytes`; characters of UTF-8 stay whole.
std::string shortened(const std::string& name, std::size_t bytes) {
  static constexpr std::string_view kMiddle = "…";
  if (name.size() <= bytes) return name;
  std::size_t head = (bytes - kMiddle.size()) * 2 / 3, tail = name.size() - (bytes - kMiddle.size() - head);
  while (head > 0 && is_within_character(name[head])) --head;
  while (tail < name.size() && is_within_character(name[tail])) ++tail;
  return name.substr(0, head).append(kMiddle).append(name, tail);
}

/// Those of flames are as many as their nodes, and have the same bound each.
void shorten_names(FlameTree& tree) {
  constexpr std::size_t kMost = 500;
  for (std::string& name : tree.names) name = shortened(name, kMost);
}

void shorten_names(std::vector<TimelineName>& names, std::size_t most_bytes) {
  constexpr std::size_t kMost = 1024, kLeast = 16;
  for (std::size_t length = kMost; length >= kLeast; length /= 2) {
    std::size_t bytes = 0;
    for (TimelineName& name : names) {
      name.text = shortened(name.text, length);
      bytes += name.text.size();
    }
    if (bytes <= most_bytes) return;
  }
}

/// Puts the ranks' names into one table.
class NameTable {
 public:
  void take(RankTimeline& rank) {
    std::vector<std::uint32_t> numbers;
    for (TimelineName& name : rank.names) numbers.push_back(number_of(std::move(name)));
    rank.names = {};
    for (Track& track : rank.tracks) {
      for (Lane& lane : track.lanes) {
        for (std::uint32_t& name : lane.name) name = numbers[name];
      }
    }
  }
  std::vector<TimelineName> names() { return std::move(names_); }

 private:
  std::uint32_t number_of(TimelineName name) {
    const auto [found, is_new] = numbers_.emplace(name.text, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(std::move(name));
    return found->second;
  }

  std::vector<TimelineName> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

std::int64_t start_of(const RankTimeline& rank) {
  return saturating_add(rank.start_ns, -rank.offset_ns);
}
std::int64_t end_of(const RankTimeline& rank) {
  return saturating_add(rank.end_ns, -rank.offset_ns);
}

/// Whether any two neighbours in time leave a hole between them in which no rank has anything.
bool are_apart(std::vector<const RankTimeline*> ranks) {
  std::ranges::sort(ranks, {}, [](const RankTimeline* rank) { return start_of(*rank); });
  std::int64_t end = end_of(*ranks.front());
  for (const RankTimeline* rank : ranks) {
    if (start_of(*rank) > end) return true;
    end = std::max(end, end_of(*rank));
  }
  return false;
}

void place_ranks(JobTimeline& job) {
  std::vector<const RankTimeline*> ranks;
  for (const RankTimeline& rank : job.ranks) {
    if (rank.end_ns > rank.start_ns) ranks.push_back(&rank);
  }
  if (ranks.empty()) return;
  if (are_apart(ranks)) {
    for (RankTimeline& rank : job.ranks)
      rank.offset_ns = saturating_add(rank.start_ns, -job.ranks.front().start_ns);
    job.notes.emplace_back(
        "the clocks of the ranks have no time in common: each is drawn from its own start; are they of one "
        "job?");
  }
  job.start_ns = start_of(*ranks.front());
  job.end_ns = end_of(*ranks.front());
  for (const RankTimeline* rank : ranks) {
    job.start_ns = std::min(job.start_ns, start_of(*rank));
    job.end_ns = std::max(job.end_ns, end_of(*rank));
  }
}

}  // namespace

JobTimeline job_timeline(std::vector<RankTimeline> ranks, const JobClocks& clocks, std::size_t name_bytes) {
  JobTimeline job;
  job.notes = clocks.notes;
  for (const RankClock& clock : clocks.ranks) {
    RankTimeline& rank = job.ranks.emplace_back(std::move(ranks[clock.place]));
    rank.rank = clock.rank;
    rank.offset_ns = clock.offset_ns;
  }
  if (job.ranks.size() == 1) {
    job.notes.clear();  // what they say of one is what nobody asked
    job.ranks.front().offset_ns = 0;
  }
  place_ranks(job);
  NameTable names;
  for (RankTimeline& rank : job.ranks) {
    names.take(rank);
    shorten_names(rank.stacks);
    shorten_names(rank.modules);
  }
  job.names = names.names();
  shorten_names(job.names, name_bytes);
  return job;
}

}  // namespace headroom::trace
