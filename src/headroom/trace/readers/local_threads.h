// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/names.h"

namespace headroom::trace::readers {

/// The (pid, tid) pairs that one reading thread has met, as the file writes them but without quotes.
class LocalThreads {
 public:
  /// Eight bytes of each may be read, whatever their size.
  std::uint32_t intern(std::string_view pid, std::string_view tid);
  /// Appends the keys that are new since the last call; they are good as long as this lives.
  void take_new(std::vector<std::string_view>& out);

 private:
  struct Recent {
    std::array<char, 32> pid{}, tid{};
    std::size_t pid_size = 0, tid_size = 0;
    std::uint32_t id = kNoName;
  };
  bool is_recent(std::string_view pid, std::string_view tid) const;

  Names keys_;
  Recent recent_;  ///< neighbours in a file mostly share their thread
  std::size_t taken_ = 0;
};

struct ThreadKey {
  std::string_view pid, tid;
};
ThreadKey split_key(std::string_view key);

}  // namespace headroom::trace::readers
