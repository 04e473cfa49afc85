// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "headroom/base/files.h"

namespace headroom::test {

/// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("test", MFD_CLOEXEC)) {
    if (::write(file_.get(), bytes.data(), bytes.size()) != static_cast<::ssize_t>(bytes.size()))
      throw std::runtime_error("no file in memory");
  }

  std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

 private:
  Descriptor file_;
};

}  // namespace headroom::test
