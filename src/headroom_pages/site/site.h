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

/// Writes index.html, a page per series in series/, and feed.xml (Atom), rewriting only changed ones.
/// `least`: the smallest change to report, relative to the level before. Throws Error if `folder` is not such
/// a site, a foreign file is in the way, another process keeps writing it, or a page cannot be written. Each
/// page is then old or new, and the next call continues.
SiteResult write_site(Store& store, const std::filesystem::path& folder, double least = 0);

struct SiteState;

/// Current pages of a history, which is reopened on each refresh, because it may be locked, moved or
/// replaced. Reads only changed series. Not thread-safe.
class LiveSite {
 public:
  /// `least`: the smallest change to report, as a share of the level before.
  LiveSite(std::string store, double least, StoreWaiting waiting = {});
  ~LiveSite();
  LiveSite(const LiveSite&) = delete;
  LiveSite& operator=(const LiveSite&) = delete;

  /// Reads new data and returns whether there was any. Throws Error if the history cannot be read; the old
  /// pages remain.
  bool refresh();
  Page index() const;
  std::string feed() const;
  /// Returns nothing for an unknown series. Throws Error if the history cannot be read.
  std::optional<Page> series_page(std::int64_t series) const;

 private:
  std::string store_;
  StoreWaiting waiting_;
  std::unique_ptr<SiteState> state_;
  std::string stamp_;
};

}  // namespace headroom
