// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/names.h"

namespace headroom::trace {

/// The (pid, tid) pairs that one reading thread has met, as the file writes them but without quotes.
class LocalThreads {
 public:
  std::uint32_t intern(std::string_view pid, std::string_view tid);

  struct Pair {
    std::string_view pid, tid;
  };
  Pair operator[](std::uint32_t id) const;
  std::size_t size() const { return keys_.size(); }
  /// Rows of the trace that the numbers stand for; kept here for whoever appends.
  std::vector<std::uint32_t>& rows() { return rows_; }

 private:
  Names keys_;
  std::string key_;
  std::size_t last_pid_size_ = 0;
  std::uint32_t last_ = 0xffffffffU;
  std::vector<std::uint32_t> rows_;
};

}  // namespace headroom::trace
