// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPackedBlock = std::size_t{1} << 18;

/// The final destination: the target of a symbolic link.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  return error ? path : target;
}

bool is_written_directly(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

class FileWriter::Output {
 public:
  explicit Output(const fs::path& path) : asked_(path) {
    require_writable(path);
    if (path == "/dev/stdout" || is_written_directly(path)) {
      fd_ = path == "/dev/stdout" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else {
      open_temporary();
    }
    if (fd_ < 0) fail(errno);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        is_broken_ = true;
        fail(errno);
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  void finish() {
    if (is_broken_) fail("a part of it could not be written");
    const bool is_temporary = !temporary_.empty();
    if (is_temporary && ::fsync(fd_) != 0) fail(errno);
    if (::close(std::exchange(fd_, -1)) != 0) fail(errno);
    if (!is_temporary) return;
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
    sync_folder_of(target_);
  }

  [[noreturn]] void fail(int error) const { fail(std::strerror(error)); }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(fmt::format("cannot write {}: {}", in_quotes(asked_.string()), why));
  }

 private:
  void open_temporary() {
    target_ = target_of(asked_);
    const fs::path folder = target_.parent_path().empty() ? fs::path(".") : target_.parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) fail(error.message());
    struct stat info {};
    const bool exists = ::stat(target_.c_str(), &info) == 0;
    for (int attempt = 0; fd_ < 0 && attempt < 10000; ++attempt) {
      const fs::path name = folder / fmt::format(".headroom-{}-w{}.tmp", ::getpid(), attempt);
      fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ >= 0) temporary_ = name;
      if (fd_ < 0 && errno != EEXIST) fail(errno);
    }
    if (fd_ >= 0 && exists && ::fchmod(fd_, info.st_mode & 07777) != 0) fail(errno);
  }

  fs::path asked_, target_, temporary_;
  int fd_ = -1;
  bool is_broken_ = false;
};

class FileWriter::Packer {
 public:
  explicit Packer(Output& output) : output_(output), block_(kPackedBlock) {}
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  virtual ~Packer() = default;
  /// Compresses `text`; with `is_end` flushes the compressor.
  virtual void pack(std::string_view text, bool is_end) = 0;

 protected:
  void emit(std::size_t count) { output_.write({block_.data(), count}); }
  Output& output_;
  std::vector<char> block_;
};

class FileWriter::GzipPacker : public Packer {
 public:
  explicit GzipPacker(Output& output) : Packer(output) {
    constexpr int kGzip = 16, kMemoryLevel = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~GzipPacker() override { deflateEnd(&stream_); }

  void pack(std::string_view text, bool is_end) override {
    do {
      const std::string_view piece = text.substr(0, std::numeric_limits<uInt>::max());
      text.remove_prefix(piece.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<uInt>(piece.size());
      const int flush = is_end && text.empty() ? Z_FINISH : Z_NO_FLUSH;
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(block_.data());
        stream_.avail_out = static_cast<uInt>(block_.size());
        if (deflate(&stream_, flush) == Z_STREAM_ERROR) output_.fail("it cannot be packed");
        emit(block_.size() - stream_.avail_out);
      } while (stream_.avail_out == 0);
    } while (!text.empty());
  }

 private:
  z_stream stream_{};
};

class FileWriter::ZstdPacker : public Packer {
 public:
  explicit ZstdPacker(Output& output) : Packer(output) {
    if (!context_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void pack(std::string_view text, bool is_end) override {
    ZSTD_inBuffer input{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{block_.data(), block_.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(context_.get(), &out, &input, is_end ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) output_.fail(ZSTD_getErrorName(left));
      emit(out.pos);
      if (is_end ? left == 0 : input.pos == input.size) return;
    }
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
};

FileWriter::FileWriter(const fs::path& path) : output_(std::make_unique<Output>(path)) {
  if (path.extension() == ".gz") packer_ = std::make_unique<GzipPacker>(*output_);
  if (path.extension() == ".zst") packer_ = std::make_unique<ZstdPacker>(*output_);
}

FileWriter::~FileWriter() = default;

void FileWriter::write(std::string_view text) {
  if (text.empty()) return;
  if (packer_) {
    packer_->pack(text, false);
  } else {
    output_->write(text);
  }
}

void FileWriter::finish() {
  if (packer_) packer_->pack({}, true);
  output_->finish();
}

}  // namespace headroom
