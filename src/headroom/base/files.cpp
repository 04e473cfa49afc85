// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  return std::strerror(error);
}

[[noreturn]] void cannot_write(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("cannot write {}: {}", quote(path.string()), why));
}

std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free space there or choose another folder";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a place where you may write";
    case ENOTDIR:
      return "; a part of the path is a file, not a folder";
    default:
      return "";
  }
}

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  cannot_write(path, reason(error) + advice(error));
}

/// N of /dev/stdout, /dev/fd/N, /proc/self/fd/N, which must not be reopened (offset 0) or renamed.
std::optional<int> own_descriptor(const fs::path& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const fs::path parent = path.parent_path();
  if (parent != "/dev/fd" && parent != "/proc/self/fd") return std::nullopt;
  const std::optional<std::int64_t> number = to_integer(path.filename().string());
  if (!number || *number < 0 || *number > 1 << 20) return std::nullopt;
  return static_cast<int>(*number);
}

struct Target {
  fs::path path;
  std::optional<int> descriptor;
  std::optional<struct stat> info;  ///< nullopt: no file yet
};

/// fs.protected_symlinks, even if off: in a sticky world-writable folder follow only our or the folder
/// owner's links.
bool is_untrusted_link(const fs::path& link, const struct stat& info) {
  struct stat folder {};
  const fs::path parent = link.parent_path();
  if (::stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return false;
  const bool is_shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return is_shared && info.st_uid != ::geteuid() && info.st_uid != folder.st_uid;
}

std::atomic<bool> follows_links{true};

void refuse_untrusted_link(const fs::path& asked, const fs::path& link, const struct stat& info) {
  if (!follows_links)
    cannot_write(asked, quote(link.string()) + " is a symbolic link, and --no-follow is given");
  if (is_untrusted_link(link, info))
    cannot_write(asked, quote(link.string()) + " is another user's link in a world-writable folder");
}

fs::path drop_first_component(const fs::path& path) {
  fs::path rest;
  for (auto part = std::next(path.begin()); part != path.end(); ++part) rest /= *part;
  return rest;
}

Target resolve(const fs::path& asked) {
  if (asked.empty()) throw Error("cannot write to an empty path; give the name of a file");
  if (!asked.has_filename()) cannot_write(asked, "it names a folder; add the name of a file");
  Target target{resolve_output_path(asked), std::nullopt, std::nullopt};
  target.descriptor = own_descriptor(target.path);
  if (target.descriptor) return target;
  struct stat info {};
  if (::lstat(target.path.c_str(), &info) != 0) {
    if (errno == ENOENT) return target;
    cannot_write(asked, errno);
  }
  if (S_ISDIR(info.st_mode)) cannot_write(asked, "it is a folder; give the name of a file");
  target.info = info;
  return target;
}

fs::path folder_of(const fs::path& file) {
  const fs::path parent = file.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

/// Sets errno on failure.
bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void require_folder(const fs::path& folder, const fs::path& asked) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode)) cannot_write(asked, ENOTDIR);
  } else if (errno == ENOENT) {
    cannot_write(asked,
                 "there is no folder " + quote(folder.string()) + "; create it, or choose another one");
  } else {
    cannot_write(asked, errno);
  }
}

void require_new_files_in(const fs::path& folder, const fs::path& asked) {
  struct statfs system {};
  if (::access(folder.c_str(), W_OK | X_OK) != 0 || ::statfs(folder.c_str(), &system) != 0) {
    cannot_write(asked, errno);
  }
  // Root passes access(), but cannot create files here.
  if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) cannot_write(asked, EROFS);
}

/// Source: Linux, Documentation/admin-guide/devices.txt.
constexpr unsigned kNullMajor = 1, kNullMinor = 3;

namespace fs = std::filesystem;

fs::path user_folder(const char* variable, const char* below_home, const char* what) {
  // The specification ignores relative values.
  if (const char* folder = std::getenv(variable); folder != nullptr && folder[0] == '/') {
    return fs::path(folder) / "headroom";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return fs::path(home) / below_home;
  }
  throw Error(std::string("no folder for the user's ") + what + ": neither " + variable +
              " nor HOME is set; set one of them");
}

namespace fs = std::filesystem;

constexpr const char* kPrefix = "headroom-work-";
/// Marks our folders; the name alone is not proof.
constexpr const char* kMarker = ".made-by-headroom";
/// A younger folder may not be locked yet.
constexpr std::chrono::seconds kMinLeftoverAge(60);

void add_owner_permissions(const fs::path& folder) noexcept {
  std::error_code ignored;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow, ignored);
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    std::error_code unknown;
    if (entry->symlink_status(unknown).type() == fs::file_type::directory)
      add_owner_permissions(entry->path());
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
  return std::chrono::system_clock::now() - made > kMinLeftoverAge && lock(folder);
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

std::string read_file(const fs::path& path) {
  const auto cannot_read = [&path](int error) {
    throw Error(fmt::format("cannot read {}: {}", quote(path.string()), reason(error)));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) cannot_read(errno);
  refuse_endless_device(file.get(), path);
  std::string content;
  std::array<char, 1 << 16> block;
  for (;;) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count == 0) return content;
    if (count > 0) {
      content.append(block.data(), static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      cannot_read(errno);
    }
  }
}

void sync_folder_of(const fs::path& path) {
  const Descriptor handle(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: unsupported by the file system.
  if (handle.get() >= 0 && ::fsync(handle.get()) != 0 && errno != EINVAL && errno != EROFS) {
    cannot_write(path, errno);
  }
}

void refuse_links() {
  follows_links = false;
}

fs::path resolve_output_path(const fs::path& asked) {
  constexpr int kMaxLinks = 40;
  fs::path done, left = asked;
  for (int links = 0; !left.empty();) {
    if (own_descriptor(done / left)) return done / left;
    const fs::path next = done / *left.begin();
    left = drop_first_component(left);
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) {
      done = next;
      continue;
    }
    refuse_untrusted_link(asked, next, info);
    std::error_code error;
    const fs::path link = fs::read_symlink(next, error);
    if (error) cannot_write(asked, error.value());
    if (++links > kMaxLinks) cannot_write(asked, ELOOP);
    if (link.is_absolute()) done.clear();
    left = left.empty() ? link : link / left;
  }
  return done;
}

void make_folders_above(const fs::path& path) {
  std::error_code error;
  fs::create_directories(resolve_output_path(path.parent_path()), error);
}

OutputFile::OutputFile(const fs::path& path) : asked_(path) {
  const Target target = resolve(path);
  if (target.descriptor) {
    file_ = Descriptor(::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0));
  } else if (target.info && !S_ISREG(target.info->st_mode)) {
    file_ = Descriptor(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  } else {
    if (target.info && ::access(target.path.c_str(), W_OK) != 0) cannot_write(path, errno);
    open_temporary(target.path);
    // chown first, as it clears set-id bits. EPERM is fine: only root may give files away.
    if (target.info &&
        ((::fchown(file_.get(), target.info->st_uid, target.info->st_gid) != 0 && errno != EPERM) ||
         ::fchmod(file_.get(), target.info->st_mode & 07777) != 0)) {
      const int error = errno;
      ::unlink(temporary_.c_str());
      cannot_write(path, error);
    }
  }
  if (!file_.is_open()) cannot_write(path, errno);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

/// Mode 0666: the kernel applies the umask.
void OutputFile::open_temporary(const fs::path& target) {
  target_ = target;
  const fs::path folder = folder_of(target);
  require_folder(folder, asked_);
  for (int attempt = 0; !file_.is_open(); ++attempt) {
    temporary_ = folder / fmt::format(".headroom-{}-{}.tmp", ::getpid(), attempt);
    file_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_.is_open() && (errno != EEXIST || attempt > 10000)) cannot_write(asked_, errno);
  }
}

void OutputFile::write(std::string_view bytes) {
  if (write_all(file_.get(), bytes)) return;
  is_broken_ = true;
  cannot_write(asked_, errno);
}

void OutputFile::finish() {
  if (is_broken_) fail("writing failed before the end");
  if ((!temporary_.empty() && ::fsync(file_.get()) != 0) || !file_.close()) cannot_write(asked_, errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) cannot_write(asked_, errno);
  temporary_.clear();
  sync_folder_of(target_);
}

void OutputFile::fail(const std::string& why) const {
  cannot_write(asked_, why);
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  OutputFile file(path);
  file.write(content);
  file.finish();
}

void require_writable(const fs::path& path) {
  const Target target = resolve(path);
  if (target.descriptor) {
    const int flags = ::fcntl(*target.descriptor, F_GETFL);
    if (flags < 0) cannot_write(path, errno);
    if ((flags & O_ACCMODE) == O_RDONLY) cannot_write(path, EBADF);
    return;
  }
  if (target.info && ::access(target.path.c_str(), W_OK) != 0) cannot_write(path, errno);
  if (target.info && !S_ISREG(target.info->st_mode)) return;
  const fs::path folder = folder_of(target.path);
  require_folder(folder, path);
  require_new_files_in(folder, path);
}

void require_writable_folder(const fs::path& folder) {
  fs::path existing = fs::absolute(resolve_output_path(folder));
  struct stat info {};
  while (::stat(existing.c_str(), &info) != 0) {
    if (errno != ENOENT || existing == existing.parent_path()) cannot_write(folder, errno);
    existing = existing.parent_path();
  }
  if (!S_ISDIR(info.st_mode)) cannot_write(folder, ENOTDIR);
  require_new_files_in(existing, folder);
}

fs::path this_executable() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw Error("cannot get the path of this program: " + error.message() + "; is /proc mounted?");
  return path;
}

void refuse_endless_device(int file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return;  // reading will report it
  if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) return;
  if (S_ISCHR(info.st_mode) && (info.st_rdev == makedev(kNullMajor, kNullMinor) || ::isatty(file) == 1))
    return;
  throw Error(fmt::format("cannot read {}: it is a device, which may never end; give a file or a pipe",
                          quote(path.string())));
}

std::string read_file_or_empty(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 8192> chunk;
  while (file.is_open()) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  return text;
}

std::string read_file_value(const std::filesystem::path& path) {
  return std::string(trimmed(read_file_or_empty(path)));
}

fs::path user_data_folder() {
  return user_folder("XDG_DATA_HOME", ".local/share/headroom", "data");
}

fs::path user_cache_folder() {
  return user_folder("XDG_CACHE_HOME", ".cache/headroom", "caches");
}

fs::path user_state_folder() {
  return user_folder("XDG_STATE_HOME", ".local/state/headroom", "state");
}

void remove_tree(const fs::path& folder) noexcept {
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (!failed) return;
  add_owner_permissions(folder);
  fs::remove_all(folder, failed);
}

TemporaryFolder::TemporaryFolder() {
  const char* asked = std::getenv("TMPDIR");
  const fs::path parent = asked != nullptr && *asked != '\0' ? asked : "/tmp";
  remove_left_over(parent);
  std::string name = fs::absolute(parent / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("cannot make a temporary folder in {}: {}; set TMPDIR to another folder",
                            quote(parent.string()), std::strerror(errno)));
  }
  path_ = name;
  lock_ = open_folder(path_);
  mark(lock_);
  // Without file locks, folders of killed programs remain.
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
