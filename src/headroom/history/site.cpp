// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/site.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "headroom/history/packed_text.h"
#include "headroom/history/series_story.h"
#include "headroom/history/site_folder.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_state.h"
#include "headroom/history/site_summary.h"

namespace headroom {
namespace {

/// Pages of series show what is behind the newest values, and beside so many of the newest changes.
constexpr std::size_t kNewestValues = 30, kChanges = 10, kBesideChange = 2;

bool is_same(const StoredSeries& a, const StoredSeries& b) {
  const auto key = [](const StoredSeries& one) {
    return std::tie(one.id, one.identity, one.fingerprint, one.unit, one.name, one.metric, one.direction);
  };
  return key(a) == key(b);
}

/// What the history has now, held against what the site shows.
struct Plan {
  std::vector<SiteSeries> changed;  ///< with what is known of them from before
  std::vector<SiteSeries> kept, gone;
};

Plan plan_of(Store& store, SiteState before, bool all, const SiteFolder& folder) {
  std::map<std::int64_t, SeriesMark> marks;
  for (const SeriesMark& mark : store.marks()) marks[mark.series] = mark;
  std::map<std::int64_t, SiteSeries> known;
  for (SiteSeries& one : before.series) known[one.series.id] = std::move(one);
  Plan plan;
  for (StoredSeries& series : store.series()) {
    const auto mark = marks.find(series.id);
    if (mark == marks.end()) continue;
    SiteSeries one;
    if (const auto old = known.find(series.id); old != known.end()) {
      one = std::move(old->second);
      known.erase(old);
    }
    if (!is_same(one.series, series)) one.changes.clear();
    if (!all && one.mark == mark->second && is_same(one.series, series) && folder.has(one.page())) {
      plan.kept.push_back(std::move(one));
      continue;
    }
    one.series = std::move(series);
    one.mark = mark->second;
    plan.changed.push_back(std::move(one));
  }
  for (auto& [id, one] : known) plan.gone.push_back(std::move(one));
  return plan;
}

/// Until all is written the pages to come are known to be ours, and none of them to be up to date.
SiteState announced(const SiteState& state, const Plan& plan, const std::vector<std::string>& assets_before) {
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

/// Of values `first` to `last` of the story.
void add_samples(Store& store, const SeriesStory& story, std::size_t first, std::size_t last,
                 SamplesOfValues& samples) {
  // Where a run has several values of the series, all of them come.
  const auto is_of_run = [&](std::size_t at, std::size_t like) {
    return story.values[at].run == story.values[like].run && story.values[at].time == story.values[like].time;
  };
  while (first > 0 && is_of_run(first - 1, first)) --first;
  for (StoredSamples& one : store.samples(story.series.id, story.values[first], story.values[last]))
    samples[first++] = std::move(one);
}

SamplesOfValues samples_to_show(Store& store, const SeriesStory& story) {
  SamplesOfValues samples;
  const std::size_t count = story.values.size();
  const std::size_t newest = count - std::min(count, kNewestValues);
  add_samples(store, story, newest, count - 1, samples);
  std::size_t shown = 0;
  for (std::size_t i = story.segments.size() - 1; i > 0 && shown < kChanges; --i, ++shown) {
    const std::size_t at = story.segments[i].first;
    const std::size_t first = at - std::min(at, kBesideChange), last = std::min(at + kBesideChange, newest);
    if (first < last) add_samples(store, story, first, last - 1, samples);
  }
  return samples;
}

/// The environments of runs at which something changed: many series change at the same one.
class Environments {
 public:
  explicit Environments(Store& store) : store_(store) {}
  Environment of(std::int64_t run) {
    const auto found = known_.find(run);
    return found != known_.end() ? found->second : known_.emplace(run, store_.environment(run)).first->second;
  }

 private:
  Store& store_;
  std::map<std::int64_t, Environment> known_;
};

/// Writes the pages of what changed, and gives `state` what they show.
std::size_t write_series(Store& store, SiteFolder& folder, std::vector<SiteSeries> changed,
                         SiteState& state) {
  std::size_t written = 0;
  Environments environments(store);
  const auto environment_of = [&](std::int64_t run) { return environments.of(run); };
  for (SiteSeries& one : changed) {
    const SeriesStory story =
        series_story(one.series, store.values(one.series.id), environment_of, state.least_change);
    one = site_summary(story, one.mark, one.changes);
    if (folder.write(one.page(),
                     linked_page_html(site_series_page(story, one, samples_to_show(store, story)), "../")))
      ++written;
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
  const std::optional<SiteState> before = folder.state();
  // A published page tells nobody where the history lies.
  const std::string name = digest_of(store.name());
  SiteState state{HEADROOM_VERSION, name, before ? before->feed : name, least, {}, {}};
  for (const PageFile& file : page_files()) state.assets.push_back(file.name);
  const bool all = !before || !is_by_the_same_rules(*before, state) || !folder.has("index.html") ||
                   !folder.has("feed.xml") || !std::ranges::all_of(state.assets, has);
  const std::vector<std::string> assets_before = before ? before->assets : std::vector<std::string>{};
  SiteResult result;
  store.at_one_moment([&] {
    Plan plan = plan_of(store, before.value_or(SiteState{}), all, folder);
    result = {plan.kept.size() + plan.changed.size(), 0, plan.gone.size()};
    if (!all && plan.changed.empty() && plan.gone.empty()) return;
    folder.announce(announced(state, plan, assets_before));
    for (const PageFile& file : page_files()) folder.write(file.name, std::string(file.content));
    state.series = std::move(plan.kept);
    result.written = write_series(store, folder, std::move(plan.changed), state);
    std::ranges::sort(state.series, {}, [](const SiteSeries& one) {
      return std::tie(one.series.fingerprint, one.series.name, one.series.metric, one.series.id);
    });
    folder.write("index.html", linked_page_html(site_index(state), ""));
    folder.write("feed.xml", site_feed(state));
    folder.finish(state);
  });
  return result;
}

}  // namespace headroom
