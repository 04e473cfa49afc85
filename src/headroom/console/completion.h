// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headroom/console/command.h"
#include "headroom/console/option_table.h"

namespace headroom::cli {

/// After `words`: an analysis or action adds options. Falls back to those after none.
OptionTable option_table(const Command& command, Arguments words);

struct Candidate {
  std::string word;  ///< no blank follows after '=' or ','
  std::string help;
};
struct Candidates {
  std::vector<Candidate> words;
  bool files = false;
};

/// Values known only to the program: runs, experiments, suites.
using ValueSource = std::function<void(Completes what, const Arguments& words, Candidates& found)>;

/// Completes the last of `words`, which follow the command's name.
Candidates candidates_of(const Command& command, const Arguments& words, const ValueSource& values);

void keep_matching(Candidates& found, const std::string& typed);

/// Prints "word<TAB>help" lines, and ":files" if files are valid.
void print_candidates(const Candidates& found);

/// Ask another headroom program for candidates or a man page.
constexpr const char* kCandidatesAction = "--candidates";
constexpr const char* kManAction = "--man";

}  // namespace headroom::cli
