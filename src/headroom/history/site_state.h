// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headroom/history/store.h"

namespace headroom {

struct SiteRange {
  double low = 0, high = 0;
};

/// A change of a series as the lists of changes and the feed show it.
struct SiteChange {
  std::int64_t run = 0;    ///< of the first value after it
  std::uint64_t time = 0;  ///< of that run, in seconds since 1970
  std::string commit;      ///< of that run; empty where it is not known
  std::int64_t run_before = 0;
  std::string commit_before;
  std::size_t values_since = 0;  ///< that of `run` included
  bool drifts = false;
  std::optional<double> ratio;  ///< after to before; of a drift, its end over its beginning
  std::optional<SiteRange> range;
  bool worse = false;
  /// Stays as it is when more values move the change by a few runs: the feed tells it once.
  std::string key;
};

/// What the index and the feed need of a series, so that it is not read again while it stays as it is.
struct SiteSeries {
  StoredSeries series;
  SeriesMark mark;
  std::uint64_t last_time = 0;  ///< of the newest value, in seconds since 1970
  double level = 0;             ///< median since the last change, in the series' unit
  std::optional<SiteRange> level_range;
  std::vector<double> spark;  ///< medians of equal parts of the series, in order
  std::vector<SiteChange> changes;
  std::optional<std::int64_t> suspected;  ///< run at which it perhaps changed, too early to tell

  /// Of the page, below the folder of the site.
  std::string page() const;
};

/// What a site shows; in a file of its own in its folder, by which the folder is known to be a site.
struct SiteState {
  std::string headroom;  ///< version that wrote it
  std::string store;     ///< digest of its name
  std::string feed;      ///< what the feed is called by, once and for all
  double least_change = 0;
  std::vector<std::string> assets;  ///< files that all pages share (page_files)
  std::vector<SiteSeries> series;
};

/// Nothing where the folder is empty. Throws Error where it holds anything that is not a site.
std::optional<SiteState> read_site_state(const std::filesystem::path& folder);
void write_site_state(const std::filesystem::path& folder, const SiteState& state);

}  // namespace headroom
