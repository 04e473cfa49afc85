// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// The last lines of a stream, in bounded memory, whatever is written: gigabytes, no line ends, binary.
class LineRing {
 public:
  explicit LineRing(std::size_t max_lines = 20, std::size_t max_line_bytes = 512);

  void append(std::string_view bytes);
  /// Oldest first; an unfinished last line included. Longer lines are cut and end in "…".
  std::vector<std::string> lines() const;
  std::size_t total_bytes() const { return total_bytes_; }

 private:
  std::size_t max_lines_, max_line_bytes_;
  std::deque<std::string> lines_;
  std::string partial_;
  bool partial_cut_ = false;
  std::size_t total_bytes_ = 0;
};

}  // namespace headroom
