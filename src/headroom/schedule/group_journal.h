// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// Writes a group at work into a journal, so that its records can be made by who finds it: a line that has
/// all of it but its readings, anew where more than these has changed, and a line of readings for each round.
class GroupJournal {
 public:
  /// `write` takes a line at a time.
  explicit GroupJournal(std::function<void(const Json&)> write) : write_(std::move(write)) {}

  /// To be called after each round: writes what is new.
  void note(const GroupResult& result);

 private:
  /// Of each track, what tells that it is not as it was.
  using Shape = std::vector<std::tuple<bool, std::size_t, std::uint64_t>>;

  std::function<void(const Json&)> write_;
  std::string title_;
  Shape shape_;
  std::vector<std::size_t> written_;  ///< readings of each track
};

/// Takes a line that GroupJournal wrote into what the lines before it gave; whether it is one. Throws Error
/// where it is damaged.
bool replay(const Json& line, GroupResult& result);

}  // namespace headroom
