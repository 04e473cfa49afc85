// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collective_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

bool is_under_way(const CollectiveEntry& entry) {
  return entry.state == CollectiveState::kCreated || entry.state == CollectiveState::kStarted;
}

std::string ago(const CollectiveHistory& history, std::int64_t time_ns) {
  return time_ns == 0 ? "" : format_time_ns(static_cast<double>(history.now_ns - time_ns));
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> numbers;
  for (const int rank : ranks) numbers.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(numbers, ", ");
}

std::string size_text(const CollectiveEntry& entry) {
  const std::string in = std::to_string(entry.elements_in);
  return (entry.elements_in == entry.elements_out ? in : fmt::format("{} to {}", in, entry.elements_out)) +
         " " + entry.dtype;
}

std::string call_text(const CollectiveEntry& entry) {
  return fmt::format("{} {}", entry.op, entry.sequence);
}

/// What one rank did last in a group.
struct Latest {
  const CollectiveHistory* history = nullptr;
  const CollectiveEntry* entry = nullptr;  // none: nothing yet
};

/// A group as all of its ranks see it.
struct GroupView {
  CollectiveGroup group;
  std::map<int, Latest> latest;  // of the ranks whose history is known

  std::optional<std::uint64_t> newest_under_way() const {
    std::optional<std::uint64_t> newest;
    for (const auto& [rank, last] : latest) {
      if (last.entry != nullptr && is_under_way(*last.entry)) {
        newest = std::max(newest.value_or(0), last.entry->sequence);
      }
    }
    return newest;
  }
};

std::vector<GroupView> views_of(const RankHistories& histories) {
  std::vector<GroupView> views;
  const auto view_of = [&](const CollectiveGroup& group) -> GroupView& {
    const auto found = std::ranges::find(views, group, &GroupView::group);
    return found != views.end() ? *found : views.emplace_back(GroupView{group, {}});
  };
  for (const auto& [rank, history] : histories) {
    for (const CollectiveGroup& group : history.groups) view_of(group).latest[rank].history = &history;
    for (const CollectiveEntry& entry : history.calls) {
      // Oldest first: the last that is seen counts.
      view_of(history.groups[static_cast<std::size_t>(entry.group)]).latest[rank].entry = &entry;
    }
  }
  // A rank that never heard of a group that it is in did not arrive either.
  for (GroupView& view : views) {
    for (const int rank : view.group.ranks) {
      const auto known = histories.find(rank);
      if (known != histories.end()) view.latest.try_emplace(rank, Latest{&known->second, nullptr});
    }
  }
  return views;
}

std::string absent_text(const GroupView& view, int rank) {
  const Latest& last = view.latest.at(rank);
  std::string text = fmt::format("; rank {} did not arrive", rank);
  if (last.entry == nullptr) return text + ": it began none";
  const CollectiveEntry& entry = *last.entry;
  text += ": its last was " + call_text(entry);
  if (is_under_way(entry)) return text + ", where it is since " + ago(*last.history, entry.created_ns);
  return text + fmt::format(", {} {} ago", collective_state_name(entry.state),
                            ago(*last.history, entry.completed_ns));
}

/// Ranks at one place that call other things than the first of them does.
std::string odd_text(const CollectiveEntry& first, int rank, const CollectiveEntry& entry) {
  const bool same = entry.op == first.op && entry.dtype == first.dtype &&
                    entry.elements_in == first.elements_in && entry.elements_out == first.elements_out;
  if (same) return "";
  return fmt::format("; but rank {} calls {} ({}) there", rank, call_text(entry), size_text(entry));
}

std::string waiting_in(const GroupView& view, std::uint64_t sequence) {
  std::vector<int> waiting, absent;
  const Latest* first = nullptr;
  std::string odd;
  for (const auto& [rank, last] : view.latest) {
    if (last.entry == nullptr || last.entry->sequence < sequence) {
      absent.push_back(rank);
    } else if (last.entry->sequence == sequence && is_under_way(*last.entry)) {
      waiting.push_back(rank);
      if (first == nullptr) first = &last;
      odd += odd_text(*first->entry, rank, *last.entry);
    }
  }
  if (first == nullptr) return "";
  std::string text =
      fmt::format("{} {} since {} in {} of '{}' ({})", ranks_text(waiting),
                  waiting.size() == 1 ? "waits" : "wait", ago(*first->history, first->entry->created_ns),
                  call_text(*first->entry), view.group.name, size_text(*first->entry));
  for (const int rank : absent) text += absent_text(view, rank);
  return text + odd;
}

}  // namespace

std::string waiting_text(const RankHistories& histories) {
  std::vector<std::string> sentences;
  for (const GroupView& view : views_of(histories)) {
    if (const auto sequence = view.newest_under_way()) sentences.push_back(waiting_in(view, *sequence));
  }
  std::erase(sentences, "");
  return join(sentences, "; ");
}

std::string collectives_text(const RankHistories& histories, std::size_t count) {
  Table table({{"rank", Align::kRight},
               {"group"},
               {"sequence", Align::kRight},
               {"collective"},
               {"elements"},
               {"state"},
               {"created ago", Align::kRight},
               {"started ago", Align::kRight},
               {"completed ago", Align::kRight}});
  for (const auto& [rank, history] : histories) {
    const std::size_t calls = history.calls.size();
    for (std::size_t i = calls > count ? calls - count : 0; i < calls; ++i) {
      const CollectiveEntry& entry = history.calls[i];
      table.row({std::to_string(rank), history.groups[static_cast<std::size_t>(entry.group)].name,
                 std::to_string(entry.sequence), entry.op, size_text(entry),
                 collective_state_name(entry.state), ago(history, entry.created_ns),
                 ago(history, entry.started_ns), ago(history, entry.completed_ns)});
    }
  }
  return table.size() == 0 ? "" : table.text();
}

Json to_json(const CollectiveHistory& history) {
  Json groups = Json::array(), calls = Json::array();
  for (const CollectiveGroup& group : history.groups) {
    groups.push_back({{"name", group.name}, {"ranks", group.ranks}, {"size", group.size}});
  }
  for (const CollectiveEntry& entry : history.calls) {
    calls.push_back({entry.group, entry.sequence, entry.op, entry.dtype, entry.elements_in,
                     entry.elements_out, entry.created_ns, entry.started_ns, entry.completed_ns,
                     static_cast<int>(entry.state)});
  }
  return {{"now_ns", history.now_ns}, {"groups", std::move(groups)}, {"calls", std::move(calls)}};
}

CollectiveHistory collective_history_from_json(const Json& json) {
  try {
    CollectiveHistory history;
    history.now_ns = json.at("now_ns").get<std::int64_t>();
    for (const Json& group : json.at("groups")) {
      history.groups.push_back({group.at("name").get<std::string>(),
                                group.at("ranks").get<std::vector<int>>(), group.at("size").get<int>()});
    }
    for (const Json& call : json.at("calls")) {
      const auto group = call.at(0).get<std::size_t>();
      const auto state = call.at(9).get<int>();
      if (group >= history.groups.size() || state < 0 || state > 3) throw Error("a collective of no group");
      history.calls.push_back({static_cast<int>(group), call.at(1).get<std::uint64_t>(),
                               call.at(2).get<std::string>(), call.at(3).get<std::string>(),
                               call.at(4).get<std::int64_t>(), call.at(5).get<std::int64_t>(),
                               call.at(6).get<std::int64_t>(), call.at(7).get<std::int64_t>(),
                               call.at(8).get<std::int64_t>(), static_cast<CollectiveState>(state)});
    }
    return history;
  } catch (const JsonError& error) {
    throw Error(fmt::format("the collectives of a rank: {}", error.what()));
  }
}

}  // namespace headroom
