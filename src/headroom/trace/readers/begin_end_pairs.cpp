// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/begin_end_pairs.h"

#include <algorithm>
#include <iterator>

namespace headroom::trace::readers {

bool BeginEndPairs::end(const Mark& mark, std::uint32_t thread, NameId name, Events& events,
                        Problems& problems) {
  std::vector<Begin>& stack = open_[thread];
  if (stack.empty()) return false;
  auto match = std::prev(stack.end());
  if (name != kNoName) {
    const auto same = std::find_if(stack.rbegin(), stack.rend(),
                                   [&](const Begin& begin) { return events.name[begin.row] == name; });
    if (same != stack.rend()) {
      match = std::prev(same.base());
    } else {
      append(problems, {1, 0, {{mark.offset, "an E event with another name than the B event that it ends"}}});
    }
  }
  std::int64_t& duration = events.duration_ns[match->row];
  duration = mark.at_ns - events.start_ns[match->row];
  if (duration < 0) {
    append(problems, {1, 0, {{mark.offset, "an E event before its B event; its duration is read as 0"}}});
    duration = 0;
  }
  stack.erase(match);
  return true;
}

std::vector<BeginEndPairs::Begin> BeginEndPairs::open() const {
  std::vector<Begin> all;
  for (const auto& [thread, stack] : open_) all.insert(all.end(), stack.begin(), stack.end());
  std::ranges::sort(all, {}, &Begin::offset);
  return all;
}

}  // namespace headroom::trace::readers
