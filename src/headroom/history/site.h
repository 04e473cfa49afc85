// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

#include "headroom/history/store.h"

namespace headroom {

struct SiteResult {
  std::size_t series = 0;   ///< that have a page
  std::size_t written = 0;  ///< pages of series that were not there, or other than now
  std::size_t removed = 0;  ///< pages of series that the history no longer has
};

/// Writes the history as pages that a browser reads from disk: index.html, a page for each series in series/,
/// and feed.xml (Atom). Only pages of series whose values changed are made anew. `least`: the share of the
/// level before from which a change counts. Throws Error where `folder` holds something that is not such a
/// site, where a file of somebody else stands in the way, where another process goes on writing it, or where
/// a page cannot be written: pages are then old or new, each whole, and the next call goes on.
SiteResult write_site(Store& store, const std::filesystem::path& folder, double least = 0);

}  // namespace headroom
