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
  std::size_t series = 0;
  std::size_t written = 0;  ///< new or changed
  std::size_t removed = 0;  ///< no longer in the history
};

/// Writes index.html, a page per series in series/, and feed.xml (Atom); rewrites only changed ones. `least`:
/// the smallest change to report, relative to the level before. Throws Error if `folder` is not such a site,
/// a foreign file is in the way, another process keeps writing it, or a page cannot be written; the next call
/// then continues.
SiteResult write_site(Store& store, const std::filesystem::path& folder, double least = 0);

struct SiteState;

/// Current pages of a history, which each refresh reopens, as it may be locked, moved or replaced. Not
/// thread-safe.
class LiveSite {
 public:
  /// `least`: as for write_site().
  LiveSite(std::string store, double least, StoreWaiting waiting = {});
  ~LiveSite();
  LiveSite(const LiveSite&) = delete;
  LiveSite& operator=(const LiveSite&) = delete;

  /// Returns whether there was new data. Throws Error if the history cannot be read, and keeps the old pages.
  bool refresh();
  Page index() const;
  std::string feed() const;
  /// Nothing for an unknown series. Throws Error if the history cannot be read.
  std::optional<Page> series_page(std::int64_t series) const;

 private:
  std::string store_;
  StoreWaiting waiting_;
  std::unique_ptr<SiteState> state_;
  std::string stamp_;
};

}  // namespace headroom
