// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace headroom {

/// Owns a file descriptor; -1 if closed.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// Returns whether close() succeeded: some file systems report a failed write only here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_ = -1;
};

/// Reads a whole file. Throws Error with the path (missing, a directory, an endless device, not readable).
std::string read_file(const std::filesystem::path& path);

/// `asked` with the symbolic links of all its components resolved, as far as it exists; a descriptor of this
/// process (/dev/stdout, /dev/fd/3) as it is. Throws Error for a link that another user planted in a sticky
/// folder that all may write to, and for every link after never_follow_links(). For all that is written.
std::filesystem::path resolved_for_writing(const std::filesystem::path& asked);

/// Replaces a file atomically: the path holds the old content or all of `content` at any moment (temporary
/// file in the same folder, fsync, rename, fsync of the folder). Writes through symbolic links as
/// resolved_for_writing() does. Writes a device or a pipe (/dev/stdout) directly. Throws Error with path and
/// reason, one of which is a missing folder.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Makes the folders above a file of headroom's own: histories, caches, traces. What fails is left to the
/// writing. Throws Error for a link as resolved_for_writing() does.
void make_folders_above(const std::filesystem::path& path);

/// Makes new names in the folder of `path` survive a power failure, if the file system can. Throws Error.
void sync_folder_of(const std::filesystem::path& path);

/// From now on resolved_for_writing() refuses every link.
void never_follow_links();

/// Throws Error if write_file_atomically(path) would fail. Creates nothing. For a check before hours of
/// measuring.
void require_writable(const std::filesystem::path& path);

/// The same for files in a folder that is made when the first of them is written.
void require_writable_folder(const std::filesystem::path& folder);

/// Absolute path of the running executable.
std::filesystem::path this_executable();

/// Throws Error if the open descriptor `file` is a device that may never end (/dev/zero, /dev/urandom, a
/// disk). Accepts files, pipes, terminals and /dev/null. The caller limits the size of a pipe.
void refuse_endless_device(int file, const std::filesystem::path& path);

/// Content of an optional file (/proc, /sys, .git); empty if not readable. Ignores the reported size, which
/// is 0 for kernel files.
std::string text_of_file(const std::filesystem::path& path);

/// The same, trimmed: for files of one value.
std::string value_in_file(const std::filesystem::path& path);

// Folders of the XDG Base Directory Specification 0.8. None is created here. All throw Error if neither the
// variable nor HOME is set.

/// Data to keep: $XDG_DATA_HOME/headroom, else ~/.local/share/headroom.
std::filesystem::path user_data_folder();

/// Data that can be recomputed: $XDG_CACHE_HOME/headroom, else ~/.cache/headroom.
std::filesystem::path user_cache_folder();

/// State between runs: $XDG_STATE_HOME/headroom, else ~/.local/state/headroom.
std::filesystem::path user_state_folder();

/// A new folder in $TMPDIR (or /tmp). The destructor removes it with its content, even if permissions were
/// taken away. Creating one also removes folders that killed programs left behind: each folder has a marker
/// and stays locked while in use, across containers that share the file system. Folders without this user's
/// marker are never touched.
class TemporaryFolder {
 public:
  /// Throws Error (no such $TMPDIR, not writable, disk full).
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;

  const std::filesystem::path& path() const { return path_; }

 private:
  void remove() noexcept;

  std::filesystem::path path_;
  Descriptor lock_;
};

/// Removes a folder with its content, even if permissions were taken away. Ignores what cannot be removed.
void remove_tree(const std::filesystem::path& folder) noexcept;

}  // namespace headroom
