// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/temporary_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "headroom-work-";
/// In each folder of ours: a name alone may be anybody's.
constexpr const char* kMarker = ".made-by-headroom";
/// A folder is made and then locked: one that nobody holds may be that young.
constexpr std::chrono::seconds kYoung(60);

/// Folders that we may not read or write keep what is in them: they are opened to us first.
void open_to_us(const fs::path& folder) noexcept {
  std::error_code ignored;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow, ignored);
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    std::error_code unknown;
    if (entry->symlink_status(unknown).type() == fs::file_type::directory) open_to_us(entry->path());
  }
}

Descriptor open_folder(const fs::path& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

bool lock(const Descriptor& folder) {
  return folder.is_open() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

void mark(const Descriptor& folder) {
  Descriptor(::openat(folder.get(), kMarker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR));
}

/// Whether this user's program of ours made the folder.
bool is_marked(const Descriptor& folder) {
  struct stat info {};
  return ::fstatat(folder.get(), kMarker, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
         info.st_uid == ::geteuid();
}

bool is_left_over(const Descriptor& folder) {
  struct stat info {};
  if (!folder.is_open() || ::fstat(folder.get(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  if (!is_marked(folder)) return false;
  const auto made = std::chrono::system_clock::from_time_t(info.st_mtime);
  return std::chrono::system_clock::now() - made > kYoung && lock(folder);
}

void remove_left_over(const fs::path& parent) {
  std::error_code failed;
  for (auto entry = fs::directory_iterator(parent, fs::directory_options::skip_permission_denied, failed);
       !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    const Descriptor folder = open_folder(entry->path());
    if (is_left_over(folder)) remove_tree(entry->path());
  }
}

}  // namespace

void remove_tree(const fs::path& folder) noexcept {
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (!failed) return;
  open_to_us(folder);
  fs::remove_all(folder, failed);
}

TemporaryFolder::TemporaryFolder() {
  const char* asked = std::getenv("TMPDIR");
  const fs::path parent = asked != nullptr && *asked != '\0' ? asked : "/tmp";
  remove_left_over(parent);
  std::string name = fs::absolute(parent / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("cannot make a temporary folder in {}: {}; name another one in TMPDIR",
                            in_quotes(parent.string()), std::strerror(errno)));
  }
  path_ = name;
  lock_ = open_folder(path_);
  mark(lock_);
  // A file system without locks keeps what a killed program left, no more than that.
  lock(lock_);
}

TemporaryFolder::~TemporaryFolder() {
  remove();
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    lock_ = std::move(other.lock_);
  }
  return *this;
}

void TemporaryFolder::remove() noexcept {
  if (!path_.empty()) remove_tree(path_);
}

}  // namespace headroom
