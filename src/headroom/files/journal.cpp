// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/fnv.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".journal";
constexpr std::size_t kDigits = 16;
constexpr std::chrono::seconds kSyncInterval{1};

std::string checksum(std::string_view text) {
  Fnv1a sum;
  sum.add({text.data(), text.size()});
  return fmt::format("{:016x}", sum.value());
}

std::string file_name() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{:016}-{}{}", std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count(),
                     ::getpid(), kEnding);
}

bool is_being_written(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return false;
  const bool is_locked = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return is_locked;
}

/// Reading a planted pipe would block.
bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error));
}

/// `are_written`: locked by a writer.
std::vector<fs::path> journals_in(const fs::path& folder, bool are_written) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == kEnding && is_file(path) && is_being_written(path) == are_written)
      found.push_back(path);
  }
  std::ranges::sort(found);
  return found;
}

/// Retries: is_being_written() takes the lock for a moment.
void lock_as_writer(int file) {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries && ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i)
    ::usleep(500);
}

}  // namespace

Journal::Journal(const fs::path& folder) : path_(folder / file_name()) {
  const auto cannot = [&](const std::string& why) {
    throw Error(fmt::format("cannot write {}: {}", quote(path_.string()), why));
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) cannot(error.message());
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file_ < 0) cannot(std::strerror(errno));
  lock_as_writer(file_);
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::append(std::string_view text) {
  if (is_torn_) return;
  const std::string line = fmt::format("{} {}\n", checksum(text), text);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int reason = count < 0 ? errno : ENOSPC;
      is_torn_ = written > 0 && ::ftruncate(file_, static_cast<off_t>(size_)) != 0;
      throw Error(fmt::format("cannot write {}: {}", quote(path_.string()), std::strerror(reason)));
    }
    written += static_cast<std::size_t>(count);
  }
  size_ += line.size();
  const auto now = std::chrono::steady_clock::now();
  if (now - synced_ < kSyncInterval) return;
  ::fdatasync(file_);
  synced_ = now;
}

void Journal::remove() {
  std::error_code error;
  fs::remove(path_, error);
}

JournalLines read_journal(const fs::path& path) {
  const std::string content = read_file(path);
  JournalLines read;
  std::string_view rest = content;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos || end < kDigits + 1) break;
    const std::string_view text = rest.substr(kDigits + 1, end - kDigits - 1);
    if (rest[kDigits] != ' ' || rest.substr(0, kDigits) != checksum(text)) break;
    read.lines.emplace_back(text);
    rest.remove_prefix(end + 1);
  }
  read.damaged = rest.size();
  return read;
}

std::vector<fs::path> unfinished_journals(const fs::path& folder) {
  return journals_in(folder, false);
}

std::vector<fs::path> running_journals(const fs::path& folder) {
  return journals_in(folder, true);
}

}  // namespace headroom
