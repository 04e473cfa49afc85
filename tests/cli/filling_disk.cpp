// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD: the folders in DISK (PATH:PATH...) have as many free bytes as the first eight bytes of the file
// DISK_LEFT say, shared by all processes. The last write is partial, as on a real disk; later writes and new
// files fail.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::atomic<std::int64_t>* left() {
  static std::atomic<std::int64_t>* const number = [] {
    const char* path = std::getenv("DISK_LEFT");
    const int file =
        path == nullptr ? -1 : next<int (*)(const char*, int, ...)>("open")(path, O_RDWR | O_CLOEXEC);
    void* page = file < 0 ? MAP_FAILED : ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) ::close(file);
    return page == MAP_FAILED ? nullptr : static_cast<std::atomic<std::int64_t>*>(page);
  }();
  return number;
}

bool is_on_disk(std::string_view path) {
  const char* disk = std::getenv("DISK");
  std::string_view rest = disk == nullptr || left() == nullptr ? "" : disk;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (path.starts_with(rest.substr(0, end)) && end > 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool is_on_disk(int file) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size =
      ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path.data(), path.size());
  return size > 0 && is_on_disk(std::string_view(path.data(), static_cast<std::size_t>(size)));
}

/// Takes up to `count` bytes of the disk.
std::size_t taken(int file, std::size_t count) {
  if (count == 0 || !is_on_disk(file)) return count;
  const std::int64_t before = left()->fetch_sub(static_cast<std::int64_t>(count));
  return static_cast<std::size_t>(std::clamp<std::int64_t>(before, 0, static_cast<std::int64_t>(count)));
}

int full() {
  errno = ENOSPC;
  return -1;
}

int opened(const char* name, const char* path, int flags, mode_t mode) {
  const int before = errno;
  struct stat info {};
  const bool is_new = (flags & O_CREAT) != 0 && ::stat(path, &info) != 0;
  errno = before;
  if (is_new && is_on_disk(std::string_view(path)) && left()->load() <= 0) return full();
  return next<int (*)(const char*, int, ...)>(name)(path, flags, mode);
}

mode_t mode_of(int flags, std::va_list& more) {
  return (flags & O_CREAT) == 0 ? 0 : static_cast<mode_t>(va_arg(more, int));
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, std::size_t count) {
  const std::size_t fits = taken(file, count);
  if (fits == 0 && count > 0) return full();
  return next<ssize_t (*)(int, const void*, std::size_t)>("write")(file, bytes, fits);
}

ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t place) {
  const std::size_t fits = taken(file, count);
  if (fits == 0 && count > 0) return full();
  return next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite")(file, bytes, fits, place);
}

ssize_t pwrite64(int file, const void* bytes, std::size_t count, off64_t place) {
  return pwrite(file, bytes, count, place);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  // A partial write may end with the first part.
  return count == 0 ? 0 : write(file, parts->iov_base, parts->iov_len);
}

int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return opened("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return opened("open64", path, flags, mode);
}
}
