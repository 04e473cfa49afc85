// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom_pages/page.h"
#include "headroom_pages/program/http_server.h"
#include "headroom_pages/program/live_runs.h"
#include "headroom_pages/program/pages.h"
#include "headroom_pages/site/site.h"

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

namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kText = "text/plain; charset=utf-8";
/// The history is looked at so often at most, and for a twentieth of the time.
constexpr std::chrono::seconds kBetweenRefreshes{1};
constexpr int kShareOfTime = 20;
constexpr std::chrono::seconds kHistoryPatience{5};

std::optional<HttpResponse> asset(std::string_view path) {
  for (const PageFile& file : page_files()) {
    if (path != "/" + file.name) continue;
    const bool is_style = file.name.ends_with(".css");
    // Another content has another name.
    return HttpResponse{200,
                        is_style ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
                        std::string(file.content),
                        {{"Cache-Control", "private, max-age=31536000, immutable"}}};
  }
  return std::nullopt;
}

/// The number in "/series/7.html"; nothing where the path is another one.
std::optional<std::string> series_of(std::string_view path) {
  constexpr std::string_view kBefore = "/series/", kAfter = ".html";
  if (!path.starts_with(kBefore) || !path.ends_with(kAfter)) return std::nullopt;
  if (path.size() <= kBefore.size() + kAfter.size()) return std::nullopt;
  return std::string(path.substr(kBefore.size(), path.size() - kBefore.size() - kAfter.size()));
}

HttpResponse not_found() {
  return {404, kText, "there is nothing here; the first page is at /\n"};
}

constexpr const char* kServeFooter =
    "Pages of `headroom history --site`, made when they are asked for, and what is being measured just now. "
    "They\n"
    "follow the history while they are looked at. Only browsers of this machine are answered, of any of its "
    "users;\n"
    "from elsewhere: ssh -L 8425:127.0.0.1:8425 HOST. Ctrl-C ends it.\n"
    "examples:\n"
    "  headroom serve                                  http://127.0.0.1:8425/\n"
    "  headroom serve --port 0                         on a port that is free\n"
    "  headroom serve --store postgresql://ci@db/perf  the history of a team";

}  // namespace

ServedHistory::ServedHistory(const std::string& store, double least) : site_(store, least) {
  site_.refresh();
  take_snapshot();
}

/// What pages show now, under a tag that no other state had, nor one of a server before this one.
void ServedHistory::take_snapshot() {
  auto made = std::make_shared<Snapshot>();
  made->tag =
      fmt::format("{:x}-{}", std::chrono::system_clock::now().time_since_epoch().count(), ++refreshes_);
  Page page = site_.index();
  page.live = made->tag;
  page.sections.insert(page.sections.begin(), {"running", "Being measured", {{"runs", Json::array()}}});
  made->index = linked_page_html(page, "");
  made->feed = site_.feed();
  const std::lock_guard lock(told_mutex_);
  snapshot_ = std::move(made);
}

void ServedHistory::refresh_if_due() {
  const std::unique_lock lock(site_mutex_, std::try_to_lock);
  const auto start = std::chrono::steady_clock::now();
  if (!lock || start < next_refresh_) return;
  std::string problem;
  try {
    if (site_.refresh()) take_snapshot();
  } catch (const Error& error) {
    problem = error.what();
  }
  const auto end = std::chrono::steady_clock::now();
  next_refresh_ = end + kBetweenRefreshes;
  // A history that does not answer was waited for, which is no load on it.
  if (problem.empty()) next_refresh_ = std::max(next_refresh_, end + kShareOfTime * (end - start));
  const std::lock_guard told(told_mutex_);
  problem_ = std::move(problem);
}

std::shared_ptr<const ServedHistory::Snapshot> ServedHistory::snapshot() {
  const std::lock_guard lock(told_mutex_);
  return snapshot_;
}

HttpResponse ServedHistory::live() {
  refresh_if_due();
  Json running = Json::array();
  {
    const std::lock_guard lock(runs_mutex_);
    running = runs_.now();
  }
  const std::lock_guard lock(told_mutex_);
  return {
      200, "application/json",
      dump_json({{"tag", snapshot_->tag}, {"problem", visible(problem_)}, {"running", std::move(running)}})};
}

HttpResponse ServedHistory::series(const std::string& number) {
  const std::optional<std::int64_t> id = to_integer(number);
  if (!id || number != fmt::format("{}", *id)) return not_found();
  const std::unique_lock lock(site_mutex_, kHistoryPatience);
  if (!lock) return {503, kText, "the history does not answer just now; try again\n"};
  try {
    std::optional<Page> page = site_.series_page(*id);
    if (!page) return not_found();
    page->live = snapshot()->tag;
    return {200, kHtml, linked_page_html(*page, "../")};
  } catch (const Error& error) {
    return {503, kText, fmt::format("the history cannot be read now: {}\n", visible(error.what()))};
  }
}

HttpResponse ServedHistory::answer(const std::string& path) {
  if (path == "/" || path == "/index.html") {
    refresh_if_due();
    return {200, kHtml, snapshot()->index};
  }
  if (path == "/feed.xml") {
    refresh_if_due();
    return {200, "application/atom+xml; charset=utf-8", snapshot()->feed};
  }
  if (path == "/live.json") return live();
  if (const auto number = series_of(path)) return series(*number);
  return asset(path).value_or(not_found());
}

ExitCode serve(const Arguments& arguments) {
  std::string store, min_magnitude = "0";
  std::uint16_t port = 8425;
  OptionTable table("Shows the history in a browser, as it is now, and what is being measured.",
                    "headroom serve");
  table.footer(kServeFooter);
  table.add_option("--port", port, "port on 127.0.0.1; 0: one that is free (default 8425)");
  table
      .add_option("--min-magnitude", min_magnitude,
                  "leave out changes of less than this share of the level before (default 0)")
      .type_name("SHARE");
  table.add_option("--store", store,
                   "file, or postgresql://USER@HOST/NAME (default: HEADROOM_STORE, else the user's)");
  if (const auto done = parse_arguments(table, arguments)) return *done;
  const auto& is_interrupted = interrupt_flag();
  ServedHistory history(store.empty() ? default_store() : store, parse_margin(min_magnitude));
  const HttpServer server(port, [&history](const std::string& path) { return history.answer(path); });
  print_text(fmt::format("http://127.0.0.1:{}/ until Ctrl-C\n", server.port()), stdout);
  std::fflush(stdout);
  // A signal ends the wait at once.
  constexpr int kLookEvery_ms = 200;
  while (!is_interrupted) ::poll(nullptr, 0, kLookEvery_ms);
  return ExitCode::kFine;
}

}  // namespace headroom::cli
