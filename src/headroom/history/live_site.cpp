// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/live_site.h"

#include <algorithm>
#include <utility>

#include "headroom/history/packed_text.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_series.h"
#include "headroom/history/site_state.h"
#include "headroom/history/site_summary.h"

namespace headroom {

LiveSite::LiveSite(std::string store, double least)
    : store_(std::move(store)), state_(std::make_unique<SiteState>()) {
  state_->headroom = HEADROOM_VERSION;
  state_->least_change = least;
}
LiveSite::~LiveSite() = default;

bool LiveSite::refresh() {
  const auto store = open_store(store_, StoreAccess::kRead);
  bool is_new = false;
  store->at_one_moment([&] {
    std::string stamp = store->stamp();
    if (stamp == stamp_) return;
    is_new = true;
    state_->feed = digest_of(store->name());
    SitePlan plan = site_plan(*store, state_->series, [](const SiteSeries&) { return true; });
    SeriesReader reader(*store, state_->least_change);
    std::vector<SiteSeries> series = std::move(plan.kept);
    for (const SiteSeries& one : plan.changed)
      series.push_back(site_summary(reader.story(one.series), one.mark, one.changes));
    sort_series(series);
    state_->series = std::move(series);
    stamp_ = std::move(stamp);
  });
  return is_new;
}

Page LiveSite::index() const {
  return site_index(*state_);
}

std::string LiveSite::feed() const {
  return site_feed(*state_);
}

std::optional<Page> LiveSite::series_page(std::int64_t series) const {
  const auto one =
      std::ranges::find(state_->series, series, [](const SiteSeries& each) { return each.series.id; });
  if (one == state_->series.end()) return std::nullopt;
  const auto store = open_store(store_, StoreAccess::kRead);
  std::optional<Page> page;
  store->at_one_moment([&] {
    SeriesReader reader(*store, state_->least_change);
    const SeriesStory story = reader.story(one->series);
    // A value more than the summary knows of is there a moment before the first page tells of it.
    SeriesMark mark = one->mark;
    mark.values = story.values.size();
    page = site_series_page(story, site_summary(story, mark, one->changes), reader.samples(story));
  });
  return page;
}

}  // namespace headroom
