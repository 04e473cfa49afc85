// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

[[noreturn]] void cannot_read(const std::filesystem::path& path, int error) {
  throw Error(fmt::format("cannot read {}: {}", quote(path.string()), std::strerror(error)));
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

class PrefixedSource : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}
  std::size_t read(char* into, std::size_t room) override {
    const std::size_t count = prefix_.copy(into, room, given_);
    given_ += count;
    return count == room ? count : count + rest_->read(into + count, room - count);
  }
  std::uint64_t done() const override { return rest_->done() - (prefix_.size() - given_); }
  std::uint64_t size() const override { return rest_->size(); }
  std::string damage() const override { return rest_->damage(); }

 private:
  std::string prefix_;
  std::size_t given_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

PeekedSource::PeekedSource(std::unique_ptr<ByteSource> source, std::size_t most)
    : source_(std::move(source)), first_(most, '\0') {
  std::size_t got = 0;
  while (got < most) {
    const std::size_t count = source_->read(first_.data() + got, most - got);
    if (count == 0) break;
    got += count;
  }
  first_.resize(got);
}

std::size_t PeekedSource::read(char* into, std::size_t room) {
  if (given_ < first_.size()) {
    const std::size_t count = first_.copy(into, room, given_);
    given_ += count;
    return count;
  }
  return source_->read(into, room);
}

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

std::unique_ptr<ByteSource> memory_source(std::string_view text) {
  return std::make_unique<MemorySource>(text);
}

std::unique_ptr<ByteSource> open_unpacked(const std::filesystem::path& path) {
  std::unique_ptr<ByteSource> file = open_file(path);
  std::string first(4, '\0');
  std::size_t got = 0;
  while (got < first.size()) {
    const std::size_t count = file->read(first.data() + got, first.size() - got);
    if (count == 0) break;
    got += count;
  }
  first.resize(got);
  if (first == "PK\3\4" || first == "PK\5\6") return open_zip_member(path);
  const bool is_gzip = first.starts_with("\x1f\x8b"), is_zstd = first == "\x28\xb5\x2f\xfd";
  auto whole = std::make_unique<PrefixedSource>(std::move(first), std::move(file));
  if (is_gzip) return unpack_gzip(std::move(whole));
  if (is_zstd) return unpack_zstd(std::move(whole));
  return whole;
}

}  // namespace headroom
