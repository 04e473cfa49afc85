// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

#include "headroom/base/files.h"
#include "headroom/base/json_reader.h"
#include "headroom/files/compressed_file.h"

namespace headroom {

/// Reads JSON from a file or pipe through a small window; unpacks gzip and zstd into memory.
class JsonStream final : public JsonReader {
 public:
  explicit JsonStream(const std::filesystem::path& path);

 private:
  std::size_t read_more(char* room, std::size_t size) override;
  [[noreturn]] void cannot_be_read() const;

  Descriptor file_;
  PaddedText unpacked_;
};

}  // namespace headroom
