// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/site_series.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kNewestValues = 30, kChanges = 10, kBesideChange = 2;

bool is_same(const StoredSeries& a, const StoredSeries& b) {
  const auto key = [](const StoredSeries& one) {
    return std::tie(one.id, one.identity, one.fingerprint, one.unit, one.name, one.metric, one.direction);
  };
  return key(a) == key(b);
}

}  // namespace

SitePlan site_plan(Store& store, std::vector<SiteSeries> known,
                   const std::function<bool(const SiteSeries&)>& is_current) {
  std::map<std::int64_t, SeriesMark> marks;
  for (const SeriesMark& mark : store.marks()) marks[mark.series] = mark;
  std::map<std::int64_t, SiteSeries> before;
  for (SiteSeries& one : known) before[one.series.id] = std::move(one);
  SitePlan plan;
  for (StoredSeries& series : store.series()) {
    const auto mark = marks.find(series.id);
    if (mark == marks.end()) continue;
    SiteSeries one;
    if (const auto old = before.find(series.id); old != before.end()) {
      one = std::move(old->second);
      before.erase(old);
    }
    if (!is_same(one.series, series)) {
      one.changes.clear();
    } else if (one.mark == mark->second && is_current(one)) {
      plan.kept.push_back(std::move(one));
      continue;
    }
    one.series = std::move(series);
    one.mark = mark->second;
    plan.changed.push_back(std::move(one));
  }
  for (auto& [id, one] : before) plan.gone.push_back(std::move(one));
  return plan;
}

void sort_series(std::vector<SiteSeries>& series) {
  std::ranges::sort(series, {}, [](const SiteSeries& one) {
    return std::tie(one.series.fingerprint, one.series.name, one.series.metric, one.series.id);
  });
}

SeriesStory SeriesReader::story(const StoredSeries& series) {
  return series_story(
      series, store_.values(series.id), [this](std::int64_t run) { return environment(run); }, least_);
}

Environment SeriesReader::environment(std::int64_t run) {
  const auto found = environments_.find(run);
  return found != environments_.end() ? found->second
                                      : environments_.emplace(run, store_.environment(run)).first->second;
}

/// Of the values from `first` up to but not `end`.
void SeriesReader::add_samples(const SeriesStory& story, std::size_t first, std::size_t end,
                               SamplesOfValues& samples) {
  // Where a run has several values of the series, all of them come.
  const auto is_of_run = [&](std::size_t at, std::size_t like) {
    return story.values[at].run == story.values[like].run && story.values[at].time == story.values[like].time;
  };
  while (first > 0 && is_of_run(first - 1, first)) --first;
  for (StoredSamples& one : store_.samples(story.series.id, story.values[first], story.values[end - 1]))
    samples[first++] = std::move(one);
}

SamplesOfValues SeriesReader::samples(const SeriesStory& story) {
  SamplesOfValues samples;
  const std::size_t count = story.values.size();
  if (count == 0) return samples;
  const std::size_t newest = count - std::min(count, kNewestValues);
  add_samples(story, newest, count, samples);
  std::size_t shown = 0;
  for (std::size_t i = story.segments.size() - 1; i > 0 && shown < kChanges; --i, ++shown) {
    const std::size_t at = story.segments[i].first;
    const std::size_t first = at - std::min(at, kBesideChange), end = std::min(at + kBesideChange, newest);
    if (first < end) add_samples(story, first, end, samples);
  }
  return samples;
}

}  // namespace headroom
