// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/history/site_state.h"

namespace headroom {

/// Text of strangers as HTML and XML may be given it: what would steer a page is spelled.
std::string page_text(std::string_view text);

/// "gemv D=64 native cpu 2t latency" as page_text.
std::string series_title(const StoredSeries& series);

/// "10.43 us", "-"
std::string level_of(double value, const std::string& unit);

/// "c0ffee123456", "-" where it is not known; as page_text.
std::string commit_text(const std::string& commit);

/// The beginning of a page, its <head> left open; `up`: "../" in a folder below that of the site.
std::string page_head(const std::string& title, const std::string& up);

/// Data for a script of the page; no text in it can end it.
std::string embedded_json(const std::string& id, const Json& json);

/// A change and whose it is.
struct ChangeOfSeries {
  const SiteSeries* series = nullptr;
  const SiteChange* change = nullptr;
};

/// Of all series, the newest first.
std::vector<ChangeOfSeries> changes_of(const SiteState& state);

/// Time of the newest run of all series, in seconds since 1970.
std::uint64_t newest_time(const SiteState& state);

}  // namespace headroom
