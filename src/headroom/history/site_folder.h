// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "headroom/history/site_state.h"

namespace headroom {

/// The folder of a site, which no other process writes meanwhile. Files that are not of the site are never
/// touched. All functions throw Error naming the file.
class SiteFolder {
 public:
  /// Makes the folder where it is missing, and waits for another process that writes it: a minute.
  explicit SiteFolder(std::filesystem::path path);
  ~SiteFolder();
  SiteFolder(const SiteFolder&) = delete;
  SiteFolder& operator=(const SiteFolder&) = delete;

  /// What the site shows; nothing where there is none yet.
  const std::optional<SiteState>& state() const { return state_; }
  /// Whether the page is there. `page`: below the folder ("series/7.html").
  bool has(const std::string& page) const;

  /// Before the first page: all pages that the site is going to have, or has. Throws Error where one that it
  /// does not have yet stands there already: it is somebody else's.
  void announce(const SiteState& state);
  /// Of an announced page; whether it was another one before.
  bool write(const std::string& page, const std::string& content);
  /// After the last page: removes what was announced and is not of the site any more.
  void finish(const SiteState& state);

 private:
  std::filesystem::path path_;
  int lock_ = -1;
  std::optional<SiteState> state_;
  std::set<std::string> announced_;
};

}  // namespace headroom
