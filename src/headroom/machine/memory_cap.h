// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headroom {

/// While one lives, this process gets no more than so many bytes of memory of its own (RLIMIT_DATA: the heap
/// and anonymous mappings, not files or programs): what asks for more throws std::bad_alloc, whatever library
/// it is in. Programs started meanwhile have the same cap.
class MemoryCap {
 public:
  explicit MemoryCap(std::int64_t bytes);
  ~MemoryCap();
  MemoryCap(const MemoryCap&) = delete;
  MemoryCap& operator=(const MemoryCap&) = delete;

 private:
  std::uint64_t before_ = 0;
  bool is_set_ = false;
};

}  // namespace headroom
