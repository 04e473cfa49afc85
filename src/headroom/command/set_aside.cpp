// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/set_aside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/process/temporary_folder.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

fs::path resolved(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(folder), error);
  if (error) throw Error("cannot set aside " + in_quotes(folder.string()) + ": " + error.message());
  if (!path.has_filename()) path = path.parent_path();
  return path;
}

void require_movable(const fs::path& folder) {
  const char* home = std::getenv("HOME");
  if (folder == folder.root_path() || (home != nullptr && folder == resolved(home))) {
    throw Error("cannot set aside " + in_quotes(folder.string()) + ": give the folder of one cache");
  }
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    throw Error("cannot set aside " + in_quotes(folder.string()) + ": it is no folder");
  }
}

Descriptor open_folder(const fs::path& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool lock(const Descriptor& folder) {
  return folder.is_open() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

/// Never onto something that is there already.
void move(const fs::path& from, const fs::path& to) {
  int error = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (error == EINVAL || error == ENOSYS) {  // a file system that cannot promise it
    const bool taken = fs::exists(fs::symlink_status(to));
    error = taken ? EEXIST : ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }
  if (error == 0) return;
  throw Error(fmt::format("cannot move {} to {}: {}", in_quotes(from.string()), in_quotes(to.string()),
                          std::strerror(error)));
}

/// ".ccache.WHAT" beside the folder.
fs::path name_beside(const fs::path& folder, const std::string& what) {
  const std::string stem = folder.filename().string();
  return folder.parent_path() / ((stem.starts_with('.') ? "" : ".") + stem + "." + what);
}

/// The same with a number that makes it one that is not taken.
fs::path free_name_beside(const fs::path& folder, const std::string& what) {
  fs::path name = name_beside(folder, what);
  for (int i = 2; fs::exists(fs::symlink_status(name)); ++i) {
    name = name_beside(folder, fmt::format("{}-{}", what, i));
  }
  return name;
}

/// Where a stand-in is while another one takes its place.
fs::path taken_stand_in(const fs::path& folder) {
  return name_beside(folder, "headroom-warm");
}

/// Moves a folder back whose program was killed. `lock` holds its content.
std::string recover(const fs::path& folder, const fs::path& aside) {
  std::string kept;
  std::error_code error;
  if (fs::exists(folder, error) && ::rmdir(folder.c_str()) != 0) {
    const fs::path left = free_name_beside(folder, "headroom-left");
    move(folder, left);
    kept = "; what was put in its place meanwhile is in " + left.string();
  }
  move(aside, folder);
  remove_tree(taken_stand_in(folder));
  return fmt::format("{} is back at its place: a run that was killed had set it aside{}", folder.string(),
                     kept);
}

}  // namespace

SetAsideFolder::SetAsideFolder(const fs::path& folder, const fs::path& journal) : folder_(resolved(folder)) {
  require_movable(folder_);
  aside_ = name_beside(folder_, "headroom-aside");
  if (fs::exists(fs::symlink_status(aside_))) {
    throw Error(fmt::format("{} is set aside already, in {}: wait for the run that uses it, or move it back",
                            in_quotes(folder_.string()), in_quotes(aside_.string())));
  }
  existed_ = fs::exists(folder_);
  if (existed_) {
    struct stat info {};
    lock_ = open_folder(folder_);
    if (!lock_.is_open() || ::fstat(lock_.get(), &info) != 0) {
      throw Error(fmt::format("cannot set aside {}: {}", in_quotes(folder_.string()), std::strerror(errno)));
    }
    mode_ = info.st_mode & 07777U;
    // Locked before it is noted: whoever recovers leaves alone what is locked.
    if (!lock(lock_))
      throw Error(in_quotes(folder_.string()) + " is being set aside by another program; wait for it");
    note_ = journal / fmt::format("{}-{}.json", ::getpid(), std::hash<std::string>{}(folder_.string()));
    write_file_atomically(note_,
                          dump_json(Json{{"folder", folder_.string()}, {"aside", aside_.string()}}) + "\n");
    try {
      move(folder_, aside_);
    } catch (const Error&) {
      fs::remove(note_);
      throw;
    }
  }
  is_aside_ = true;
  try {
    make_stand_in();
  } catch (const Error&) {
    put_back();
    throw;
  }
}

SetAsideFolder::~SetAsideFolder() {
  try {
    put_back();
  } catch (const Error&) {  // the note stays, for recover_set_aside
  }
}

void SetAsideFolder::require_stand_in() const {
  if (is_back_already()) throw Error(in_quotes(folder_.string()) + " was moved back by another program");
}

void SetAsideFolder::make_stand_in() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw Error("cannot make " + in_quotes(folder_.string()) + " anew: " + error.message());
  if (existed_) fs::permissions(folder_, static_cast<fs::perms>(mode_), error);
}

bool SetAsideFolder::is_back_already() const {
  struct stat original {
  }, there{};
  return lock_.is_open() && ::fstat(lock_.get(), &original) == 0 && ::stat(folder_.c_str(), &there) == 0 &&
         original.st_dev == there.st_dev && original.st_ino == there.st_ino;
}

void SetAsideFolder::empty_again() {
  require_stand_in();
  remove_tree(folder_);
  remove_tree(taken_stand_in(folder_));
  make_stand_in();
}

void SetAsideFolder::take_stand_in_away() {
  require_stand_in();
  move(folder_, taken_stand_in(folder_));
  make_stand_in();
}

void SetAsideFolder::bring_stand_in_back() {
  require_stand_in();
  remove_tree(folder_);
  move(taken_stand_in(folder_), folder_);
}

void SetAsideFolder::put_back() {
  if (!is_aside_) return;
  is_aside_ = false;
  std::error_code error;
  if (is_back_already()) {
    fs::remove(note_, error);
    return;
  }
  remove_tree(folder_);
  remove_tree(taken_stand_in(folder_));
  if (!existed_) return;
  // Something may still be writing to it.
  if (fs::exists(folder_)) move(folder_, free_name_beside(folder_, "headroom-left"));
  with_context("the content of " + in_quotes(folder_.string()) + " is in " + in_quotes(aside_.string()),
               [&] { move(aside_, folder_); });
  fs::remove(note_, error);
}

std::vector<std::string> recover_set_aside(const fs::path& journal) {
  std::vector<std::string> told;
  std::error_code error;
  std::vector<fs::path> notes;
  for (fs::directory_iterator entry(journal, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".json") notes.push_back(entry->path());
  }
  std::ranges::sort(notes);
  for (const fs::path& note : notes) {
    const std::string source = note.string();
    const Json json = parse_json(read_file(note), source);
    const fs::path folder = json_string(json, "folder", source), aside = json_string(json, "aside", source);
    const Descriptor content = open_folder(aside);
    // Nothing moved yet, or moved back already. A program that just noted it holds the lock on the folder.
    if (!content.is_open()) {
      const Descriptor in_place = open_folder(folder);
      if (!in_place.is_open() || lock(in_place)) fs::remove(note, error);
      continue;
    }
    if (!lock(content)) continue;
    told.push_back(recover(folder, aside));
    fs::remove(note, error);
  }
  return told;
}

}  // namespace headroom
