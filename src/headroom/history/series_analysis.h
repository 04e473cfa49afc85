// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/history/store.h"
#include "headroom/stats/changepoint.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Values between two changes.
struct SeriesSegment {
  std::size_t first = 0, last = 0;  ///< inclusive indices of the values
  double median = 0;
  std::optional<Interval> interval;  ///< of the median; nothing for too few values
  std::optional<double> ratio;       ///< to the previous segment's median
  std::optional<Interval> ratio_interval;
  std::optional<double> drift;       ///< if the segment drifts: its end over its start
  std::vector<std::string> changes;  ///< in the environment, since the previous segment
  std::string bisect;                ///< the command that finds the commit; empty without two commits
};

struct SeriesAnalysis {
  StoredSeries series;
  std::vector<StoredValue> values;
  std::vector<SeriesSegment> segments;
  std::vector<SpreadChange> spreads;
  std::optional<ChangePoint> suspected;
};

/// Finds changes of at least `least`, a share of the level before. Calls `environment_of` only for runs next
/// to changes; it may be empty.
SeriesAnalysis series_analysis(StoredSeries series, std::vector<StoredValue> values,
                               const std::function<Environment(std::int64_t)>& environment_of,
                               double least = 0);

/// False if the direction is unknown.
bool is_worse(double ratio, Direction direction);
/// "worse", "better", or "changed" if the direction is unknown.
const char* change_word(double ratio, Direction direction);

/// The last step of the level, or a drift that continues.
struct LastChange {
  std::int64_t run = 0;  ///< of the first value after the change
  std::uint64_t time = 0;
  std::size_t values_since = 0;  ///< including that of `run`; 1 for a drift
  bool drifts = false;
  std::optional<double> ratio;  ///< after to before; for a drift, its end over its start
  std::optional<Interval> interval;
  bool worse = false;
};

/// Nothing if the level never changed.
std::optional<LastChange> last_change(const SeriesAnalysis& analysis);

/// "+10.0 % (+9.6 .. +10.4) worse", "drifts by +5.3 % over 40 values, worse".
std::string last_change_text(const SeriesAnalysis& analysis, const LastChange& change);

/// "2 of 14 series changed: gemv D=64 native cpu 2t latency at @21, +10.0 % (+9.6 .. +10.4) worse; ...".
std::string changes_sentence(std::span<const SeriesAnalysis> analyses);

/// Answer of `headroom history gate`.
struct RegressionAnswer {
  ExitCode exit = ExitCode::kSuccess;
  std::string sentence;
  View view;  ///< the sentence, the series that became worse, and how to find the commits
  Json json;  ///< "gate": exit, sentence, last; "series": as series_list_json(), and a verdict each
};

/// kFailure if a series became worse within its last `newest` values or drifts to the worse; else
/// kInconclusive if no series has enough values to detect a change.
RegressionAnswer regression_answer(std::span<const SeriesAnalysis> analyses, std::size_t newest);

/// Whether it is a number of a trace.
bool is_of_trace(const StoredSeries& series);

/// `cases`: by run, where known.
Table runs_table(const std::vector<StoredRun>& runs, const std::map<std::int64_t, std::size_t>& cases = {});
Json runs_json(const std::vector<StoredRun>& runs);

/// Shows each latest value and the one before.
Table series_table(std::span<const SeriesAnalysis> analyses);
Json series_list_json(std::span<const SeriesAnalysis> analyses);

/// "2026-09-21 14:13" from seconds since 1970; "(unknown)" for 0.
std::string format_utc(std::uint64_t seconds);

View series_view(const SeriesAnalysis& analysis);
/// Says whether the series changed, and whether it may have changed just now.
std::vector<std::string> series_answers(const SeriesAnalysis& analysis);
Json series_json(const SeriesAnalysis& analysis);

/// "+10.0 % (+9.6 .. +10.4)"; empty without a ratio.
std::string change_text(const std::optional<double>& ratio, const std::optional<Interval>& interval);
/// "drifts by +5.3 % over 40 values" for a drifting segment.
std::string drift_text(const SeriesSegment& segment);

}  // namespace headroom
