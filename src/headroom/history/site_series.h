// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "headroom/history/series_story.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_state.h"

namespace headroom {

/// What a history has now, held against what is known of it.
struct SitePlan {
  std::vector<SiteSeries> changed;  ///< with what is known of them from before
  std::vector<SiteSeries> kept, gone;
};

/// `is_current`: whether a known series that has not changed need not be made anew.
SitePlan site_plan(Store& store, std::vector<SiteSeries> known,
                   const std::function<bool(const SiteSeries&)>& is_current);

/// The order in which a site shows series: machine by machine.
void sort_series(std::vector<SiteSeries>& series);

/// Tells the stories of series of one store. All functions throw Error.
class SeriesReader {
 public:
  /// `least`: the share of the level before from which a change counts.
  SeriesReader(Store& store, double least) : store_(store), least_(least) {}

  SeriesStory story(const StoredSeries& series);
  /// What is behind the newest values, and those beside changes.
  SamplesOfValues samples(const SeriesStory& story);

 private:
  void add_samples(const SeriesStory& story, std::size_t first, std::size_t end, SamplesOfValues& samples);
  Environment environment(std::int64_t run);

  Store& store_;
  double least_;
  /// Of runs at which something changed: many series change at the same one.
  std::map<std::int64_t, Environment> environments_;
};

}  // namespace headroom
