// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/completion.h"

#include <algorithm>
#include <cstdio>

#include "cli/commands/completion_candidates.h"
#include "cli/shared/option_table.h"
#include "cli/shared/say.h"
#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

constexpr const char* kExamples = R"(examples:
  source <(headroom completion bash)             in ~/.bashrc; zsh: the same in ~/.zshrc, after compinit
  headroom completion zsh > ~/.zfunc/_headroom   or a file in a folder of $fpath
  headroom completion fish > ~/.config/fish/completions/headroom.fish
  headroom completion candidates -- run --ba     what the scripts ask: a word, a tab and its help on each line

Debian's package and the wheel bring them along.
)";

void print(const Candidates& found) {
  for (const Candidate& one : found.words) std::printf("%s\t%s\n", one.word.c_str(), one.help.c_str());
  if (found.files) std::puts(":files");
}

}  // namespace

std::vector<CommandWord> completion_words() {
  return {{"bash", "the script for bash"}, {"zsh", "the script for zsh"}, {"fish", "the script for fish"}};
}

ExitCode completion(const Arguments& arguments) {
  if (!arguments.empty() && arguments.front() == "candidates") {
    const auto end = std::ranges::find(arguments, "--");
    print(candidates(end == arguments.end() ? Arguments{} : Arguments(end + 1, arguments.end())));
    return ExitCode::kFine;
  }
  std::string shell;
  OptionTable table("Prints the script that completes commands, options and their values in a shell.",
                    "headroom completion");
  table.footer(kExamples);
  table.add_option("SHELL", shell, "bash, zsh or fish").required();
  if (const auto done = parse_arguments(table, arguments)) return *done;
  print_text(completion_script(shell), stdout);
  return ExitCode::kFine;
}

}  // namespace headroom::cli
