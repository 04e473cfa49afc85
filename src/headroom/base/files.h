// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace headroom {

/// Owns a descriptor; -1 if closed.
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
  /// Some file systems report failed writes only here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_ = -1;
};

/// Throws Error with the path (missing, directory, endless device, unreadable).
std::string read_file(const std::filesystem::path& path);

/// Resolves symbolic links, as far as the path exists; keeps descriptors of this process (/dev/stdout,
/// /dev/fd/3). Throws Error for another user's links in a sticky world-writable folder, and after
/// refuse_links() for any link.
std::filesystem::path resolve_output_path(const std::filesystem::path& asked);

/// By temporary file, fsync and rename. Follows links as resolve_output_path(). Writes devices and pipes
/// directly. Throws Error.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// For headroom's own files; failures surface on writing. Throws Error for a link as resolve_output_path().
void make_folders_above(const std::filesystem::path& path);

/// If the file system can. Throws Error.
void sync_folder_of(const std::filesystem::path& path);

/// Makes resolve_output_path() refuse every link.
void refuse_links();

/// Throws Error if write_file_atomically(path) would fail; creates nothing.
void require_writable(const std::filesystem::path& path);

/// It need not exist yet.
void require_writable_folder(const std::filesystem::path& folder);

std::filesystem::path this_executable();

/// Throws Error for a device that may never end (/dev/zero, a disk), but not for terminals and /dev/null.
void refuse_endless_device(int file, const std::filesystem::path& path);

/// Empty if unreadable. Ignores the reported size, which is 0 for /proc and /sys.
std::string read_file_or_empty(const std::filesystem::path& path);

/// Trimmed.
std::string read_file_value(const std::filesystem::path& path);

// XDG Base Directory Specification 0.8. Not created here. Throw Error if neither the variable nor HOME is
// set.

/// $XDG_DATA_HOME/headroom, else ~/.local/share/headroom.
std::filesystem::path user_data_folder();

/// $XDG_CACHE_HOME/headroom, else ~/.cache/headroom.
std::filesystem::path user_cache_folder();

/// $XDG_STATE_HOME/headroom, else ~/.local/state/headroom.
std::filesystem::path user_state_folder();

/// New folder in $TMPDIR (or /tmp), removed by the destructor, even if permissions were revoked. The
/// constructor also removes folders of killed programs: those with this user's marker and no lock. Locks work
/// across containers.
class TemporaryFolder {
 public:
  /// Throws Error.
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

/// Even if permissions were revoked. Ignores failures.
void remove_tree(const std::filesystem::path& folder) noexcept;

/// A temporary file that replaces the target in finish(), keeping owner and mode; without finish() nothing
/// changes. Follows links as resolve_output_path(). Writes devices and pipes directly. Throws Error.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// Throws after a failed write.
  void finish();
  [[noreturn]] void fail(const std::string& why) const;

 private:
  void open_temporary(const std::filesystem::path& target);

  std::filesystem::path asked_, target_, temporary_;  ///< no temporary: written directly, or finished
  Descriptor file_;
  bool is_broken_ = false;
};

}  // namespace headroom
