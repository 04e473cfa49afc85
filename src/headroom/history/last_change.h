// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "headroom/base/exit_code.h"
#include "headroom/history/series_story.h"

namespace headroom {

/// The newest thing that happened to the level of a series: a step, or a drift that goes on.
struct LastChange {
  std::int64_t run = 0;  ///< of the first value after it
  std::uint64_t time = 0;
  std::size_t values_since = 0;  ///< in the series, that of `run` included; 1 for a drift, which goes on
  bool drifts = false;
  std::optional<double> ratio;  ///< after to before; of a drift, its end over its beginning
  std::optional<Interval> interval;
  bool worse = false;
};

/// Nothing where the level never changed.
std::optional<LastChange> last_change(const SeriesStory& story);

/// "+10.0 % (+9.6 .. +10.4) worse", "drifts by +5.3 % over 40 values, worse".
std::string last_change_text(const SeriesStory& story, const LastChange& change);

/// "2 of 14 series changed: gemv D=64 native cpu 2t latency at @21, +10.0 % (+9.6 .. +10.4) worse; ...", the
/// newest first, a few of them.
std::string changes_sentence(std::span<const SeriesStory> stories);

/// What `headroom history --fail-on-regression` answers with.
struct RegressionAnswer {
  ExitCode exit = ExitCode::kFine;
  std::string sentence;
};

/// kNo where the last change of a series made it worse within its last `newest` values, or it drifts to the
/// worse; kInconclusive where there is none and no series has the values that a change takes to be seen.
RegressionAnswer regression_answer(std::span<const SeriesStory> stories, std::size_t newest);

}  // namespace headroom
