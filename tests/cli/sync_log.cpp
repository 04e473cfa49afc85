// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD: logs to SYNC_LOG "sync PATH" and "rename FROM TO", a line each. SYNC_FAILS: fsync fails as on a
// broken disk.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace {

void note(const std::string& line) {
  const char* path = std::getenv("SYNC_LOG");
  const int log = path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return;
  static_cast<void>(!::write(log, (line + "\n").data(), line.size() + 1));
  ::close(log);
}

std::string path_of(int file) {
  std::array<char, 4096> path{};
  const ssize_t size =
      ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "";
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int fsync(int file) {
  note("sync " + path_of(file));
  if (std::getenv("SYNC_FAILS") != nullptr) {
    errno = EIO;
    return -1;
  }
  return next<int (*)(int)>("fsync")(file);
}

int fdatasync(int file) {
  note("sync " + path_of(file));
  return next<int (*)(int)>("fdatasync")(file);
}

int rename(const char* from, const char* to) noexcept {
  note(std::string("rename ") + from + " " + to);
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}
}
