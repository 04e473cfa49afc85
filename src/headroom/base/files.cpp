// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "headroom/base/endless_device.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  /// Closes and reports what close says: some file systems tell of a failed write only here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::string reason(int error) {
  return std::strerror(error);
}

[[noreturn]] void cannot_write(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("cannot write {}: {}", in_quotes(path.string()), why));
}

std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free space there or choose another folder";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a place that you may write to";
    case ENOTDIR:
      return "; a part of the path is a file, not a folder";
    default:
      return "";
  }
}

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  cannot_write(path, reason(error) + advice(error));
}

/// The number N where `path` is our own open descriptor (/dev/stdout, /dev/fd/N, /proc/self/fd/N). Opening
/// such a path again would start at offset 0 of the file behind it, and renaming over it would cut that file
/// off.
std::optional<int> own_descriptor(const fs::path& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const fs::path parent = path.parent_path();
  if (parent != "/dev/fd" && parent != "/proc/self/fd") return std::nullopt;
  const std::optional<std::int64_t> number = to_integer(path.filename().string());
  if (!number || *number < 0 || *number > 1 << 20) return std::nullopt;
  return static_cast<int>(*number);
}

/// What a path leads to once its last component is no symbolic link any more.
struct Target {
  fs::path path;
  std::optional<int> descriptor;    ///< our own descriptor: written as it is
  std::optional<struct stat> info;  ///< nothing where there is no file yet
};

/// As the kernel's fs.protected_symlinks has it, wherever that is off: in a folder that all may write to and
/// only owners remove from, a link leads on only where it is ours, or the folder's owner's.
bool is_planted(const fs::path& link, const struct stat& info) {
  struct stat folder {};
  const fs::path parent = link.parent_path();
  if (::stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return false;
  const bool is_shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return is_shared && info.st_uid != ::geteuid() && info.st_uid != folder.st_uid;
}

std::atomic<bool> follows_links{true};

/// Throws Error where a link is in the way and none may be.
void refuse_links(const fs::path& asked) {
  if (follows_links) return;
  fs::path walked;
  for (const fs::path& part : asked) {
    walked /= part;
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(walked, error)))
      cannot_write(asked, in_quotes(walked.string()) + " is a symbolic link, and --no-follow is given");
  }
}

Target resolve(const fs::path& asked) {
  if (asked.empty()) throw Error("cannot write to an empty path; give the name of a file");
  if (!asked.has_filename()) cannot_write(asked, "it names a folder; add the name of a file");
  constexpr int kMaxLinks = 40;
  Target target{asked, std::nullopt, std::nullopt};
  for (int links = 0; links <= kMaxLinks; ++links) {
    target.descriptor = own_descriptor(target.path);
    if (target.descriptor) return target;
    refuse_links(target.path);
    struct stat info {};
    if (::lstat(target.path.c_str(), &info) != 0) {
      if (errno == ENOENT) return target;
      cannot_write(asked, errno);
    }
    if (!S_ISLNK(info.st_mode)) {
      target.info = info;
      if (S_ISDIR(info.st_mode)) cannot_write(asked, "it is a folder; give the name of a file");
      return target;
    }
    if (is_planted(target.path, info))
      cannot_write(asked, "it is a link of another user in a folder that all may write to");
    std::error_code error;
    const fs::path link = fs::read_symlink(target.path, error);
    if (error) cannot_write(asked, error.value());
    target.path = link.is_absolute() ? link : target.path.parent_path() / link;
  }
  cannot_write(asked, ELOOP);
}

fs::path folder_of(const fs::path& file) {
  const fs::path parent = file.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

/// False with errno set where not all of `content` could be written.
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

void write_directly(const fs::path& asked, const Target& target, std::string_view content) {
  Descriptor file(target.descriptor ? ::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0)
                                    : ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 || !write_all(file.get(), content) || !file.close()) cannot_write(asked, errno);
}

/// A new file in the folder of the target, removed again unless it was renamed.
class TemporaryFile {
 public:
  /// Made with mode 0666: the kernel applies the umask, as it would for the file itself.
  TemporaryFile(const fs::path& folder, const fs::path& asked) : file_(-1) {
    for (int attempt = 0; file_.get() < 0; ++attempt) {
      path_ = folder / fmt::format(".headroom-{}-{}.tmp", ::getpid(), attempt);
      const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) {
        file_ = Descriptor(fd);
      } else if (errno != EEXIST || attempt > 10000) {
        cannot_write(asked, errno);
      }
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!renamed_) ::unlink(path_.c_str());
  }

  /// Owner first: a change of owner clears set-id bits. Only root may give files away, so a refusal is no
  /// failure.
  bool copy_ownership(const struct stat& from) {
    if (::fchown(file_.get(), from.st_uid, from.st_gid) != 0 && errno != EPERM) return false;
    return ::fchmod(file_.get(), from.st_mode & 07777) == 0;
  }
  bool write(std::string_view content) { return write_all(file_.get(), content); }
  bool rename_to(const fs::path& path) {
    if (::fsync(file_.get()) != 0 || !file_.close()) return false;
    renamed_ = ::rename(path_.c_str(), path.c_str()) == 0;
    return renamed_;
  }

 private:
  fs::path path_;
  Descriptor file_;
  bool renamed_ = false;
};

void require_new_files_in(const fs::path& folder, const fs::path& asked) {
  struct statfs system {};
  if (::access(folder.c_str(), W_OK | X_OK) != 0 || ::statfs(folder.c_str(), &system) != 0) {
    cannot_write(asked, errno);
  }
  // Root passes every access check there, and creating fails all the same.
  if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) cannot_write(asked, EROFS);
}

}  // namespace

std::string read_file(const fs::path& path) {
  const auto cannot_read = [&path](int error) {
    throw Error(fmt::format("cannot read {}: {}", in_quotes(path.string()), reason(error)));
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
  // Not every file system can (EINVAL): the file is whole either way.
  if (handle.get() >= 0 && ::fsync(handle.get()) != 0 && errno != EINVAL && errno != EROFS) {
    cannot_write(path, errno);
  }
}

void never_follow_links() {
  follows_links = false;
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  const Target target = resolve(path);
  if (target.descriptor || (target.info && !S_ISREG(target.info->st_mode))) {
    return write_directly(path, target, content);
  }
  if (target.info && ::access(target.path.c_str(), W_OK) != 0) cannot_write(path, errno);
  const fs::path folder = folder_of(target.path);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) cannot_write(path, error.value());

  TemporaryFile temporary(folder, path);
  if ((target.info && !temporary.copy_ownership(*target.info)) || !temporary.write(content) ||
      !temporary.rename_to(target.path)) {
    cannot_write(path, errno);
  }
  sync_folder_of(target.path);
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

  fs::path folder = fs::absolute(folder_of(target.path));
  struct stat info {};
  while (::stat(folder.c_str(), &info) != 0) {
    if (errno != ENOENT || folder == folder.parent_path()) cannot_write(path, errno);
    folder = folder.parent_path();
  }
  if (!S_ISDIR(info.st_mode)) cannot_write(path, ENOTDIR);
  require_new_files_in(folder, path);
}

fs::path this_executable() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error)
    throw Error("cannot find out the path of this program: " + error.message() + "; is /proc mounted?");
  return path;
}

}  // namespace headroom
