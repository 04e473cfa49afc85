// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/command/command_track.h"

namespace headroom {

/// Writes commands that are being compared into a journal, so that their records can be made by who finds it:
/// first what they are, then a line of samples for each round.
class CommandJournal {
 public:
  /// `write` takes a line at a time.
  explicit CommandJournal(std::function<void(const Json&)> write) : write_(std::move(write)) {}

  /// To be called after each round: writes what is new.
  void note(const CommandGroup& group);

 private:
  /// Of each command, what tells that it is not as it was.
  using Shape = std::vector<std::pair<bool, std::int64_t>>;

  std::function<void(const Json&)> write_;
  Shape shape_;
  std::vector<std::size_t> written_;  ///< samples of each command
};

/// Takes a line that CommandJournal wrote into what the lines before it gave; whether it is one. Throws Error
/// where it is damaged.
bool replay(const Json& line, CommandGroup& group);

}  // namespace headroom
