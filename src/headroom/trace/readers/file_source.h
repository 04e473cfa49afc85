// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "headroom/trace/readers/byte_source.h"

namespace headroom::trace::readers {

/// A file that is read from a place of one's choice.
class FileSource : public ByteSource {
 public:
  /// Throws Error naming the path.
  explicit FileSource(const std::filesystem::path& path);
  ~FileSource() override;

  std::size_t read(char* into, std::size_t room) override;
  std::uint64_t done() const override { return done_; }
  std::uint64_t size() const override { return size_; }

  /// Goes on reading at `offset`, and ends `length` bytes later. Only of files that are no pipes.
  void restrict_to(std::uint64_t offset, std::uint64_t length);
  bool is_pipe() const { return is_pipe_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
  bool is_pipe_ = false;
  std::uint64_t size_ = 0, done_ = 0;
  std::uint64_t left_ = UINT64_MAX;
};

}  // namespace headroom::trace::readers
