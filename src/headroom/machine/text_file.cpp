// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "headroom/base/text.h"
#include "headroom/process/descriptor.h"

namespace headroom {

std::string text_of_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 8192> chunk;
  while (file.is_open()) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  return text;
}

std::string value_in_file(const std::filesystem::path& path) {
  return std::string(trimmed(text_of_file(path)));
}

}  // namespace headroom
