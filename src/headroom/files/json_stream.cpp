// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/json_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "headroom/base/error.h"

namespace headroom {

JsonStream::JsonStream(const std::filesystem::path& path)
    : JsonReader(path.string()), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (!file_.is_open()) cannot_be_read();
  struct stat status {};
  if (::fstat(file_.get(), &status) == 0 && S_ISDIR(status.st_mode))
    throw Error(source() + ": is a folder, not a file");
  refuse_endless_device(file_.get(), path);
  const bool is_regular = S_ISREG(status.st_mode);
  if (is_regular) expect_bytes(static_cast<std::uint64_t>(status.st_size));
  peek();
  if (is_regular && (window().starts_with("\x1f\x8b") || window().starts_with("\x28\xb5\x2f\xfd"))) {
    unpacked_ = read_compressed_file(path);
    hold(unpacked_.view());
  }
  if (peek() == '\0' && window().empty()) throw Error(source() + ": the file is empty");
}

void JsonStream::cannot_be_read() const {
  throw Error(source() + ": cannot be read: " + std::strerror(errno));
}

std::size_t JsonStream::read_more(char* room, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(file_.get(), room, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) cannot_be_read();
  }
}

}  // namespace headroom
