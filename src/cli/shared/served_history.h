// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "cli/shared/http_server.h"
#include "cli/shared/live_runs.h"
#include "headroom/history/live_site.h"

namespace headroom::cli {

/// What `headroom serve` answers: pages of a history, its feed, and what is being measured.
class ServedHistory {
 public:
  /// Throws Error where the history cannot be read: a server of nothing is not started.
  ServedHistory(const std::string& store, double least);

  /// By several threads at once. A history that does not answer keeps one of them waiting: the others tell
  /// what it was, and that it cannot be read now.
  HttpResponse answer(const std::string& path);

 private:
  struct Snapshot {
    std::string tag, index, feed;
  };

  void refresh_if_due();
  void take_snapshot();
  std::shared_ptr<const Snapshot> snapshot();
  HttpResponse first_page();
  HttpResponse live();
  HttpResponse series(const std::string& number);

  std::timed_mutex site_mutex_;  ///< of what reads the history
  LiveSite site_;
  std::chrono::steady_clock::time_point next_refresh_;
  std::size_t refreshes_ = 0;

  std::mutex told_mutex_;  ///< of what is told of it; never held while the history is read
  std::shared_ptr<const Snapshot> snapshot_;
  std::string problem_;

  std::mutex runs_mutex_;
  LiveRuns runs_;
};

}  // namespace headroom::cli
