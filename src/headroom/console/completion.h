// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headroom/console/command.h"
#include "headroom/console/option_table.h"

namespace headroom::cli {

/// The options of a command followed by `words`: an analysis or an action adds its own.
OptionTable option_table(const Command& command, const Arguments& words);

/// What may stand where a word is being typed.
struct Candidate {
  std::string word;  ///< the whole word; more follows without a blank where it ends with '=' or ','
  std::string help;
};
struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  ///< or the name of a file
};

/// Adds the values that only the program knows: runs of the history, experiments, suites. The last of `words`
/// is being typed.
using ValueSource = std::function<void(Completes what, const Arguments& words, Candidates& found)>;

/// The candidates for the last of `words`, which follow the command's name.
Candidates candidates_of(const Command& command, const Arguments& words, const ValueSource& values);

/// Keeps the candidates that begin with `typed`, once each.
void keep_matching(Candidates& found, const std::string& typed);

/// One line each: the word, a tab, its help; ":files" where a file may stand.
void print_candidates(const Candidates& found);

/// The first argument that asks another program of ours for candidates, or for the man page of a command.
constexpr const char* kCandidatesAction = "--candidates";
constexpr const char* kManAction = "--man";

}  // namespace headroom::cli
