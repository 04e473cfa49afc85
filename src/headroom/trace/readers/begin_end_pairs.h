// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/batch.h"

namespace headroom::trace::readers {

/// Pairs B and E events, thread by thread in the order of the file: an E ends the innermost open B of its
/// name; without a name, or where none of that name is open, the innermost one.
class BeginEndPairs {
 public:
  void begin(std::uint32_t row, std::uint32_t thread, std::uint64_t offset) {
    open_[thread].push_back({row, offset});
  }
  /// Sets the duration of the row that ends here. False when there is none to end.
  bool end(const Mark& mark, std::uint32_t thread, NameId name, Events& events, Problems& problems);

  struct Begin {
    std::uint32_t row = 0;
    std::uint64_t offset = 0;
  };
  /// Those that have no end.
  std::vector<Begin> open() const;

 private:
  std::unordered_map<std::uint32_t, std::vector<Begin>> open_;  ///< by thread, innermost last
};

}  // namespace headroom::trace::readers
