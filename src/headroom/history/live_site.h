// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headroom/history/store.h"
#include "headroom/page/page.h"

namespace headroom {

struct SiteState;

/// The pages of a history as they are now. Opens the history anew each time, so that one that was locked,
/// moved or replaced is found again; what has not changed since is not read again. Not for several threads at
/// once.
class LiveSite {
 public:
  /// `least`: the share of the level before from which a change counts.
  LiveSite(std::string store, double least);
  ~LiveSite();
  LiveSite(const LiveSite&) = delete;
  LiveSite& operator=(const LiveSite&) = delete;

  /// Reads what is new; whether something was. Throws Error where the history cannot be read: pages then show
  /// what was there before.
  bool refresh();
  Page index() const;
  std::string feed() const;
  /// Nothing where there is no such series. Throws Error where the history cannot be read.
  std::optional<Page> series_page(std::int64_t series) const;

 private:
  std::string store_;
  std::unique_ptr<SiteState> state_;
  std::string stamp_;
};

}  // namespace headroom
