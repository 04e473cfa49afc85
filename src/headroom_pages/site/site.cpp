// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/site/site.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/history/run_text.h"
#include "headroom/history/series_story.h"
#include "headroom_pages/site/site_page.h"
#include "headroom_pages/site/site_state.h"

namespace headroom {

/// Differences between the history and the known series.
struct SitePlan {
  std::vector<SiteSeries> changed;  ///< with the data known before
  std::vector<SiteSeries> kept, gone;
};

/// `is_current`: whether the page of an unchanged series is up to date.
SitePlan site_plan(Store& store, std::vector<SiteSeries> known,
                   const std::function<bool(const SiteSeries&)>& is_current);

/// Sorts series as a site shows them: by machine.
void sort_series(std::vector<SiteSeries>& series);

/// Reads series of one store. All functions throw Error.
class SeriesReader {
 public:
  /// `least`: the smallest change to report, as a share of the level before.
  SeriesReader(Store& store, double least) : store_(store), least_(least) {}

  SeriesStory story(const StoredSeries& series);
  /// Returns the samples of the newest values and of those beside changes.
  SamplesOfValues samples(const SeriesStory& story);

 private:
  void add_samples(const SeriesStory& story, std::size_t first, std::size_t end, SamplesOfValues& samples);
  Environment environment(std::int64_t run);

  Store& store_;
  double least_;
  /// Of runs with a change; many series change at the same run.
  std::map<std::int64_t, Environment> environments_;
};

/// The directory of a site, locked against other processes. Never touches foreign files. All functions throw
/// Error naming the file.
class SiteFolder {
 public:
  /// Creates a missing directory, and waits up to a minute for another process that writes it.
  explicit SiteFolder(std::filesystem::path path);
  ~SiteFolder();
  SiteFolder(const SiteFolder&) = delete;
  SiteFolder& operator=(const SiteFolder&) = delete;

  /// Returns the contents of the site, if it exists.
  const std::optional<SiteState>& state() const { return state_; }
  /// Whether the page exists. `page`: path below the directory ("series/7.html").
  bool has(const std::string& page) const;

  /// Call before the first page, with all old and new pages. Throws Error if a file that is not of the site
  /// has the name of a new page.
  void announce(const SiteState& state);
  /// Writes an announced page, and returns whether it changed.
  bool write(const std::string& page, const std::string& content);
  /// Call after the last page: removes announced pages that are no longer of the site.
  void finish(const SiteState& state);

 private:
  std::filesystem::path path_;
  int lock_ = -1;
  std::optional<SiteState> state_;
  std::set<std::string> announced_;
};

namespace {

constexpr std::size_t kNewestValues = 30, kChanges = 10, kBesideChange = 2;

bool is_same(const StoredSeries& a, const StoredSeries& b) {
  const auto key = [](const StoredSeries& one) {
    return std::tie(one.id, one.identity, one.fingerprint, one.unit, one.name, one.metric, one.direction);
  };
  return key(a) == key(b);
}

namespace fs = std::filesystem;

/// Locks until the process ends, however it ends. Returns -1 and sets errno on failure.
int lock_folder(const fs::path& folder, std::chrono::seconds patience) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return -1;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > deadline) {
      const int why = errno;
      ::close(file);
      errno = why;
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return file;
}

bool holds(const fs::path& file, const std::string& content) {
  std::error_code error;
  return fs::is_regular_file(file, error) && fs::file_size(file, error) == content.size() &&
         read_file(file) == content;
}

std::set<std::string> pages_of(const SiteState& state) {
  std::set<std::string> pages{"index.html", "feed.xml"};
  pages.insert(state.assets.begin(), state.assets.end());
  for (const SiteSeries& one : state.series) pages.insert(one.page());
  return pages;
}

/// Returns the state during writing: all new pages are ours, and none is up to date.
SiteState announced(const SiteState& state, const SitePlan& plan,
                    const std::vector<std::string>& assets_before) {
  SiteState all = state;
  all.assets.insert(all.assets.end(), assets_before.begin(), assets_before.end());
  for (const std::vector<SiteSeries>* part : {&plan.changed, &plan.gone}) {
    for (const SiteSeries& one : *part) {
      all.series.push_back(one);
      all.series.back().mark = {};
    }
  }
  all.series.insert(all.series.end(), plan.kept.begin(), plan.kept.end());
  return all;
}

/// Writes the pages of the changed series, and adds their data to `state`.
std::size_t write_series(Store& store, SiteFolder& folder, std::vector<SiteSeries> changed,
                         SiteState& state) {
  std::size_t written = 0;
  SeriesReader reader(store, state.least_change);
  for (SiteSeries& one : changed) {
    const SeriesStory story = reader.story(one.series);
    one = site_summary(story, one.mark, one.changes);
    const Page page = site_series_page(story, one, reader.samples(story));
    if (folder.write(one.page(), linked_page_html(page, "../"))) ++written;
    state.series.push_back(std::move(one));
  }
  return written;
}

/// Whether unchanged series need no new pages.
bool is_by_the_same_rules(const SiteState& before, const SiteState& now) {
  return before.headroom == now.headroom && before.store == now.store && before.assets == now.assets &&
         before.least_change == now.least_change;
}

}  // namespace

SitePlan site_plan(Store& store, std::vector<SiteSeries> known,
                   const std::function<bool(const SiteSeries&)>& is_current) {
  std::map<std::int64_t, SeriesMark> marks;
  for (const SeriesMark& mark : store.marks()) marks[mark.series] = mark;
  std::map<std::int64_t, SiteSeries> before;
  for (SiteSeries& one : known) before[one.series.id] = std::move(one);
  SitePlan plan;
  for (StoredSeries& series : store.series()) {
    const auto mark = marks.find(series.id);
    if (mark == marks.end()) continue;
    SiteSeries one;
    if (const auto old = before.find(series.id); old != before.end()) {
      one = std::move(old->second);
      before.erase(old);
    }
    if (!is_same(one.series, series)) {
      one.changes.clear();
    } else if (one.mark == mark->second && is_current(one)) {
      plan.kept.push_back(std::move(one));
      continue;
    }
    one.series = std::move(series);
    one.mark = mark->second;
    plan.changed.push_back(std::move(one));
  }
  for (auto& [id, one] : before) plan.gone.push_back(std::move(one));
  return plan;
}

void sort_series(std::vector<SiteSeries>& series) {
  std::ranges::sort(series, {}, [](const SiteSeries& one) {
    return std::tie(one.series.fingerprint, one.series.name, one.series.metric, one.series.id);
  });
}

SeriesStory SeriesReader::story(const StoredSeries& series) {
  return series_story(
      series, store_.values(series.id), [this](std::int64_t run) { return environment(run); }, least_);
}

Environment SeriesReader::environment(std::int64_t run) {
  const auto found = environments_.find(run);
  return found != environments_.end() ? found->second
                                      : environments_.emplace(run, store_.environment(run)).first->second;
}

/// Adds the values from `first` to before `end`.
void SeriesReader::add_samples(const SeriesStory& story, std::size_t first, std::size_t end,
                               SamplesOfValues& samples) {
  // Includes all values of a run that has several.
  const auto is_of_run = [&](std::size_t at, std::size_t like) {
    return story.values[at].run == story.values[like].run && story.values[at].time == story.values[like].time;
  };
  while (first > 0 && is_of_run(first - 1, first)) --first;
  for (StoredSamples& one : store_.samples(story.series.id, story.values[first], story.values[end - 1]))
    samples[first++] = std::move(one);
}

SamplesOfValues SeriesReader::samples(const SeriesStory& story) {
  SamplesOfValues samples;
  const std::size_t count = story.values.size();
  if (count == 0) return samples;
  const std::size_t newest = count - std::min(count, kNewestValues);
  add_samples(story, newest, count, samples);
  std::size_t shown = 0;
  for (std::size_t i = story.segments.size() - 1; i > 0 && shown < kChanges; --i, ++shown) {
    const std::size_t at = story.segments[i].first;
    const std::size_t first = at - std::min(at, kBesideChange), end = std::min(at + kBesideChange, newest);
    if (first < end) add_samples(story, first, end, samples);
  }
  return samples;
}

SiteFolder::SiteFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (!fs::exists(path_, error)) fs::create_directories(path_, error);
  if (error) throw Error("cannot make the folder " + in_quotes(path_.string()) + ": " + error.message());
  constexpr std::chrono::seconds kPatience{60};
  lock_ = lock_folder(path_, kPatience);
  if (lock_ < 0) {
    if (errno == EWOULDBLOCK)
      throw Error(in_quotes(path_.string()) +
                  " is still being written by another headroom; try again when it is done");
    throw Error("cannot use " + in_quotes(path_.string()) +
                " as the folder of a site: " + std::generic_category().message(errno) + "; name another one");
  }
  try {
    state_ = read_site_state(path_);
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

SiteFolder::~SiteFolder() {
  ::close(lock_);
}

bool SiteFolder::has(const std::string& page) const {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path_ / page, error));
}

void SiteFolder::announce(const SiteState& state) {
  const std::set<std::string> ours = state_ ? pages_of(*state_) : std::set<std::string>{};
  announced_ = pages_of(state);
  std::error_code error;
  for (const char* name : {"assets", "series"}) {
    const fs::file_status folder = fs::symlink_status(path_ / name, error);
    if (!fs::exists(folder) || fs::is_directory(folder)) continue;
    throw Error(in_quotes((path_ / name).string()) +
                " is no folder, and pages are to go there; move it away, or name another folder");
  }
  for (const std::string& page : announced_) {
    const fs::file_status status = fs::symlink_status(path_ / page, error);
    if (!fs::exists(status) || (ours.contains(page) && fs::is_regular_file(status))) continue;
    throw Error(
        in_quotes((path_ / page).string()) +
        " is not headroom's, and a page of that name is to be written; move it away, or name another folder");
  }
  write_site_state(path_, state);
}

bool SiteFolder::write(const std::string& page, const std::string& content) {
  if (holds(path_ / page, content)) return false;
  write_file_atomically(path_ / page, content);
  return true;
}

void SiteFolder::finish(const SiteState& state) {
  const std::set<std::string> kept = pages_of(state);
  for (const std::string& page : announced_) {
    if (kept.contains(page)) continue;
    std::error_code error;
    fs::remove(path_ / page, error);
    if (error) throw Error("cannot remove " + in_quotes((path_ / page).string()) + ": " + error.message());
  }
  write_site_state(path_, state);
}

SiteResult write_site(Store& store, const std::filesystem::path& path, double least) {
  SiteFolder folder(path);
  const auto has = [&folder](const std::string& file) { return folder.has(file); };
  const SiteState before = folder.state().value_or(SiteState{});
  // A published page does not reveal the location of the history.
  const std::string name = digest_of(store.name());
  SiteState state{HEADROOM_VERSION, name, before.feed.empty() ? name : before.feed, least, {}, {}};
  for (const PageFile& file : page_files()) state.assets.push_back(file.name);
  const bool all = !is_by_the_same_rules(before, state) || !has("index.html") || !has("feed.xml") ||
                   !std::ranges::all_of(state.assets, has);
  SiteResult result;
  store.at_one_moment([&] {
    SitePlan plan =
        site_plan(store, before.series, [&](const SiteSeries& one) { return !all && has(one.page()); });
    result = {plan.kept.size() + plan.changed.size(), 0, plan.gone.size()};
    if (!all && plan.changed.empty() && plan.gone.empty()) return;
    folder.announce(announced(state, plan, before.assets));
    for (const PageFile& file : page_files()) folder.write(file.name, std::string(file.content));
    state.series = std::move(plan.kept);
    result.written = write_series(store, folder, std::move(plan.changed), state);
    sort_series(state.series);
    folder.write("index.html", linked_page_html(site_index(state), ""));
    folder.write("feed.xml", site_feed(state));
    folder.finish(state);
  });
  return result;
}

LiveSite::LiveSite(std::string store, double least)
    : store_(std::move(store)), state_(std::make_unique<SiteState>()) {
  state_->headroom = HEADROOM_VERSION;
  state_->least_change = least;
}
LiveSite::~LiveSite() = default;

bool LiveSite::refresh() {
  const auto store = open_store(store_, StoreAccess::kRead);
  bool is_new = false;
  store->at_one_moment([&] {
    std::string stamp = store->stamp();
    if (stamp == stamp_) return;
    is_new = true;
    state_->feed = digest_of(store->name());
    SitePlan plan = site_plan(*store, state_->series, [](const SiteSeries&) { return true; });
    SeriesReader reader(*store, state_->least_change);
    std::vector<SiteSeries> series = std::move(plan.kept);
    for (const SiteSeries& one : plan.changed)
      series.push_back(site_summary(reader.story(one.series), one.mark, one.changes));
    sort_series(series);
    state_->series = std::move(series);
    stamp_ = std::move(stamp);
  });
  return is_new;
}

Page LiveSite::index() const {
  return site_index(*state_);
}

std::string LiveSite::feed() const {
  return site_feed(*state_);
}

std::optional<Page> LiveSite::series_page(std::int64_t series) const {
  const auto one =
      std::ranges::find(state_->series, series, [](const SiteSeries& each) { return each.series.id; });
  if (one == state_->series.end()) return std::nullopt;
  const auto store = open_store(store_, StoreAccess::kRead);
  std::optional<Page> page;
  store->at_one_moment([&] {
    SeriesReader reader(*store, state_->least_change);
    const SeriesStory story = reader.story(one->series);
    // A value may arrive after its summary was read and before the index is written.
    SeriesMark mark = one->mark;
    mark.values = story.values.size();
    page = site_series_page(story, site_summary(story, mark, one->changes), reader.samples(story));
  });
  return page;
}

}  // namespace headroom
