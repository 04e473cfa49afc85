// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/site.h"

#include <algorithm>
#include <utility>

#include "headroom/history/packed_text.h"
#include "headroom/history/site_folder.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_series.h"
#include "headroom/history/site_state.h"
#include "headroom/history/site_summary.h"

namespace headroom {
namespace {

/// Until all is written the pages to come are known to be ours, and none of them to be up to date.
SiteState announced(const SiteState& state, const SitePlan& plan,
                    const std::vector<std::string>& assets_before) {
  SiteState all = state;
  all.assets.insert(all.assets.end(), assets_before.begin(), assets_before.end());
  for (const std::vector<SiteSeries>* part : {&plan.changed, &plan.gone}) {
    for (const SiteSeries& one : *part) {
      all.series.push_back(one);
      all.series.back().mark = {};
    }
  }
  all.series.insert(all.series.end(), plan.kept.begin(), plan.kept.end());
  return all;
}

/// Writes the pages of what changed, and gives `state` what they show.
std::size_t write_series(Store& store, SiteFolder& folder, std::vector<SiteSeries> changed,
                         SiteState& state) {
  std::size_t written = 0;
  SeriesReader reader(store, state.least_change);
  for (SiteSeries& one : changed) {
    const SeriesStory story = reader.story(one.series);
    one = site_summary(story, one.mark, one.changes);
    const Page page = site_series_page(story, one, reader.samples(story));
    if (folder.write(one.page(), linked_page_html(page, "../"))) ++written;
    state.series.push_back(std::move(one));
  }
  return written;
}

/// Whether what stays as it is in the history stays as it is in the site.
bool is_by_the_same_rules(const SiteState& before, const SiteState& now) {
  return before.headroom == now.headroom && before.store == now.store && before.assets == now.assets &&
         before.least_change == now.least_change;
}

}  // namespace

SiteResult write_site(Store& store, const std::filesystem::path& path, double least) {
  SiteFolder folder(path);
  const auto has = [&folder](const std::string& file) { return folder.has(file); };
  const SiteState before = folder.state().value_or(SiteState{});
  // A published page tells nobody where the history lies.
  const std::string name = digest_of(store.name());
  SiteState state{HEADROOM_VERSION, name, before.feed.empty() ? name : before.feed, least, {}, {}};
  for (const PageFile& file : page_files()) state.assets.push_back(file.name);
  const bool all = !is_by_the_same_rules(before, state) || !has("index.html") || !has("feed.xml") ||
                   !std::ranges::all_of(state.assets, has);
  SiteResult result;
  store.at_one_moment([&] {
    SitePlan plan =
        site_plan(store, before.series, [&](const SiteSeries& one) { return !all && has(one.page()); });
    result = {plan.kept.size() + plan.changed.size(), 0, plan.gone.size()};
    if (!all && plan.changed.empty() && plan.gone.empty()) return;
    folder.announce(announced(state, plan, before.assets));
    for (const PageFile& file : page_files()) folder.write(file.name, std::string(file.content));
    state.series = std::move(plan.kept);
    result.written = write_series(store, folder, std::move(plan.changed), state);
    sort_series(state.series);
    folder.write("index.html", linked_page_html(site_index(state), ""));
    folder.write("feed.xml", site_feed(state));
    folder.finish(state);
  });
  return result;
}

}  // namespace headroom
