// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/served_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/page/page.h"

namespace headroom::cli {
namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kText = "text/plain; charset=utf-8";
/// The history is looked at so often at most, and for a twentieth of the time.
constexpr std::chrono::seconds kBetweenRefreshes{1};
constexpr int kShareOfTime = 20;
constexpr std::chrono::seconds kPatience{5};

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
  const std::unique_lock lock(site_mutex_, kPatience);
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

}  // namespace headroom::cli
