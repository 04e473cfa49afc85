// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "headroom/base/text.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_summary.h"

namespace headroom {
namespace {

std::string name_of(const SiteSeries& one) {
  return visible(one.series.name + " " + one.series.metric);
}

std::string machine_of(const SiteSeries& one) {
  return one.series.fingerprint.empty() ? "(unknown machine)" : visible(one.series.fingerprint);
}

Json range_end(const std::optional<SiteRange>& range, double SiteRange::*end) {
  return range ? Json((*range).*end) : Json(nullptr);
}

Json change_json(const SiteSeries& series, const SiteChange& change) {
  return {{"series", name_of(series)},
          {"href", series.page()},
          {"machine", machine_of(series)},
          {"run", change.run},
          {"time", change.time},
          {"commit", visible(change.commit)},
          {"since", change.values_since},
          {"drifts", change.drifts},
          {"ratio", change.ratio ? Json(*change.ratio) : Json(nullptr)},
          {"low", range_end(change.range, &SiteRange::low)},
          {"high", range_end(change.range, &SiteRange::high)},
          {"worse", change.worse}};
}

Json changes_json(const SiteState& state) {
  constexpr std::size_t kEarlier = 100;
  const std::uint64_t newest = newest_time(state);
  Json recent = Json::array(), earlier = Json::array(), suspected = Json::array();
  std::size_t earlier_count = 0;
  for (const ChangeOfSeries& one : changes_of(state)) {
    if (is_recent(*one.series, *one.change, newest)) {
      recent.push_back(change_json(*one.series, *one.change));
    } else if (++earlier_count <= kEarlier) {
      earlier.push_back(change_json(*one.series, *one.change));
    }
  }
  for (const SiteSeries& one : state.series) {
    if (!one.suspected) continue;
    suspected.push_back({{"series", name_of(one)},
                         {"href", one.page()},
                         {"machine", machine_of(one)},
                         {"run", *one.suspected}});
  }
  return {{"up_to", newest},
          {"series", state.series.size()},
          {"recent", std::move(recent)},
          {"earlier", std::move(earlier)},
          {"earlier_count", earlier_count},
          {"suspected", std::move(suspected)}};
}

/// Series `first` up to but not `end` of the state.
Json machine_json(const SiteState& state, std::size_t first, std::size_t end) {
  Json columns = Json::object();
  for (const char* name :
       {"name", "metric", "href", "unit", "level", "low", "high", "values", "last_time", "spark", "change"})
    columns[name] = Json::array();
  for (std::size_t i = first; i < end; ++i) {
    const SiteSeries& one = state.series[i];
    columns["name"].push_back(visible(one.series.name));
    columns["metric"].push_back(visible(one.series.metric));
    columns["href"].push_back(one.page());
    columns["unit"].push_back(visible(one.series.unit));
    columns["level"].push_back(one.level);
    columns["low"].push_back(range_end(one.level_range, &SiteRange::low));
    columns["high"].push_back(range_end(one.level_range, &SiteRange::high));
    columns["values"].push_back(one.mark.values);
    columns["last_time"].push_back(one.last_time);
    columns["spark"].push_back(one.spark);
    columns["change"].push_back(one.changes.empty() ? Json(nullptr) : change_json(one, one.changes.back()));
  }
  return {{"count", end - first}, {"series", std::move(columns)}};
}

}  // namespace

Page site_index(const SiteState& state) {
  Page page{"Performance over time", "", {}};
  page.feed = "feed.xml";
  page.links = {{"feed", page.feed}};
  page.sections.push_back({"changes", "What changed", changes_json(state)});
  // Those of a machine stand together: the state is in that order.
  for (std::size_t first = 0, end = 0; first < state.series.size(); first = end) {
    const SiteSeries& one = state.series[first];
    while (end < state.series.size() && state.series[end].series.fingerprint == one.series.fingerprint) ++end;
    page.sections.push_back({"machine", machine_of(one), machine_json(state, first, end)});
  }
  return page;
}

}  // namespace headroom
