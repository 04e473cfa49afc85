// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/file_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "headroom/base/endless_device.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

[[noreturn]] void cannot_read(const std::filesystem::path& path, int error) {
  throw Error(fmt::format("cannot read {}: {}", in_quotes(path.string()), std::strerror(error)));
}

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view text) : text_(text) {}
  std::size_t read(char* into, std::size_t room) override {
    const std::size_t count = text_.copy(into, room, done_);
    done_ += count;
    return count;
  }
  std::uint64_t done() const override { return done_; }
  std::uint64_t size() const override { return text_.size(); }

 private:
  std::string_view text_;
  std::size_t done_ = 0;
};

}  // namespace

FileSource::FileSource(const std::filesystem::path& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) cannot_read(path, errno);
  struct stat info {};
  if (::fstat(file_, &info) != 0 || S_ISDIR(info.st_mode)) {
    const int error = S_ISDIR(info.st_mode) ? EISDIR : errno;
    ::close(file_);
    cannot_read(path, error);
  }
  try {
    refuse_endless_device(file_, path);
  } catch (...) {
    ::close(file_);
    throw;
  }
  is_pipe_ = !S_ISREG(info.st_mode);
  if (!is_pipe_) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    ::posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
}

FileSource::~FileSource() {
  ::close(file_);
}

std::size_t FileSource::read(char* into, std::size_t room) {
  std::size_t count = 0;
  room = static_cast<std::size_t>(std::min<std::uint64_t>(room, left_));
  while (count < room) {
    const ::ssize_t got = ::read(file_, into + count, room - count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(path_, errno);
    if (got == 0) break;
    count += static_cast<std::size_t>(got);
    if (is_pipe_) break;
  }
  done_ += count;
  left_ -= count;
  return count;
}

void FileSource::restrict_to(std::uint64_t offset, std::uint64_t length) {
  if (::lseek(file_, static_cast<::off_t>(offset), SEEK_SET) < 0) cannot_read(path_, errno);
  done_ = offset;
  left_ = length;
}

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<ByteSource> from_memory(std::string_view text) {
  return std::make_unique<MemorySource>(text);
}

}  // namespace headroom::trace::readers
