// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headroom/history/series_analysis.h"
#include "headroom/history/store.h"

namespace headroom {

struct SiteRange {
  double low = 0, high = 0;
};

struct SiteChange {
  std::int64_t run = 0;    ///< of the first value after the change
  std::uint64_t time = 0;  ///< of that run, in s since 1970
  std::string commit;      ///< of that run, or empty
  std::int64_t run_before = 0;
  std::string commit_before;
  std::size_t values_since = 0;  ///< including that of `run`
  bool drifts = false;
  std::optional<double> ratio;  ///< after to before; for a drift, its end over its start
  std::optional<SiteRange> range;
  bool worse = false;  ///< false if the direction is unknown
  /// Stable if later values move the change by a few runs, so that the feed reports it once.
  std::string key;
};

/// Stored, so that unchanged series need not be read.
struct SiteSeries {
  StoredSeries series;
  SeriesDigest mark;
  std::uint64_t last_time = 0;  ///< of the newest value, in s since 1970
  double level = 0;             ///< median since the last change, in the series' unit
  std::optional<SiteRange> level_range;
  std::vector<double> spark;  ///< medians of equal parts of the series
  std::vector<SiteChange> changes;
  std::optional<std::int64_t> suspected;  ///< run of a possible change

  std::string page() const;
};

/// A site; its file marks a directory as one.
struct SiteState {
  std::string headroom;
  std::string store;  ///< digest of the store's name
  std::string feed;   ///< permanent ID of the feed
  double least_change = 0;
  std::vector<std::string> assets;
  std::vector<SiteSeries> series;
};

/// Nothing for an empty directory. Throws Error if it holds anything but a site.
std::optional<SiteState> read_site_state(const std::filesystem::path& folder);
void write_site_state(const std::filesystem::path& folder, const SiteState& state);

/// A change that `before` has at about the same run keeps its key.
SiteSeries site_summary(const SeriesAnalysis& analysis, const SeriesDigest& mark,
                        const std::vector<SiteChange>& before);

/// Whether the series is still measured and the change is within a week of `newest` (seconds since 1970), or
/// too recent for earlier detection.
bool is_recent(const SiteSeries& one, const SiteChange& change, std::uint64_t newest);

struct ChangeOfSeries {
  const SiteSeries* series = nullptr;
  const SiteChange* change = nullptr;
};

/// Newest first.
std::vector<ChangeOfSeries> changes_of(const SiteState& state);

/// In s since 1970.
std::uint64_t newest_time(const SiteState& state);

/// "+10.0 % (+9.6 .. +10.4) worse", "drifts by +5.3 % over 40 values, worse".
std::string site_change_text(const SiteChange& change, Direction direction);

/// One value, or several consecutive ones.
struct SitePoint {
  std::size_t first = 0, last = 0;  ///< inclusive indices of the values
  double value = 0;                 ///< median of several
  /// Interval of one value; minimum and maximum of several.
  std::optional<SiteRange> range;
};

/// Returns all values if at most `most`; else the newest `single`, and medians of consecutive older ones,
/// never across a change; about `most` points.
std::vector<SitePoint> site_points(const SeriesAnalysis& analysis, std::size_t most, std::size_t single);

}  // namespace headroom
