// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/site_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// Gone with the process, however that ends; -1 with errno where it cannot be had.
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

}  // namespace

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

}  // namespace headroom
