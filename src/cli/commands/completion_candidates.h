// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/option_table.h"

namespace headroom::cli {

/// The options of a command where `words` stand behind its name: of what an analysis or an action adds, too.
OptionTable option_table(const Command& command, const Arguments& words);

/// What may stand where a word is being typed.
struct Candidate {
  std::string word;  ///< the whole word; where it ends with '=' or ',' more follows without a blank
  std::string help;
};
struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  ///< or the name of a file
};

/// Of a command line without its first word; the last word is being typed, and may be empty. Starts runners
/// where their experiments are asked for; what cannot be asked is left out.
Candidates candidates(const Arguments& words);

/// The script that has a shell ask `headroom completion candidates`. Throws Error for another shell than
/// bash, zsh and fish.
std::string completion_script(const std::string& shell);

}  // namespace headroom::cli
