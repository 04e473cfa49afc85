// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "headroom/history/store.h"
#include "headroom_pages/page.h"

namespace headroom {

struct SiteResult {
  std::size_t series = 0;   ///< with a page
  std::size_t written = 0;  ///< new or changed pages of series
  std::size_t removed = 0;  ///< pages of series that left the history
};

/// Writes the history as static pages: index.html, a page for each series in series/, and feed.xml (Atom).
/// Rewrites only the pages of changed series. `least`: the smallest change to report, as a share of the level
/// before. Throws Error if `folder` is not such a site, a foreign file is in the way, another process keeps
/// writing the site, or a page cannot be written. Each page is then old or new, and the next call continues.
SiteResult write_site(Store& store, const std::filesystem::path& folder, double least = 0);

struct SiteState;

/// The current pages of a history. Opens the history anew each time, so that a locked, moved or
/// replaced one is found again. Reads only changed series. Not thread-safe.
class LiveSite {
 public:
  /// `least`: the smallest change to report, as a share of the level before.
  LiveSite(std::string store, double least);
  ~LiveSite();
  LiveSite(const LiveSite&) = delete;
  LiveSite& operator=(const LiveSite&) = delete;

  /// Reads what is new, and returns whether anything was. Throws Error if the history cannot be read; the old
  /// pages remain.
  bool refresh();
  Page index() const;
  std::string feed() const;
  /// Returns nothing if there is no such series. Throws Error if the history cannot be read.
  std::optional<Page> series_page(std::int64_t series) const;

 private:
  std::string store_;
  std::unique_ptr<SiteState> state_;
  std::string stamp_;
};

}  // namespace headroom
