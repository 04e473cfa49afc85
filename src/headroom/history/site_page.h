// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "headroom/history/series_story.h"
#include "headroom/history/site_state.h"

namespace headroom {

/// The first page: what changed lately, then all series, machine by machine.
std::string site_index(const SiteState& state);

/// Samples by the index of their value.
using SamplesOfValues = std::map<std::size_t, StoredSamples>;

/// The page of a series: its values, its levels with what changed between them, and samples behind values.
std::string site_series_page(const SeriesStory& story, const SiteSeries& summary,
                             const SamplesOfValues& samples);

/// The newest changes as an Atom feed (RFC 4287).
std::string site_feed(const SiteState& state);

}  // namespace headroom
