// SPDX-License-Identifier: Apache-2.0
// The scripts ask `headroom completion candidates`, so they need no change when commands change.
#include <algorithm>
#include <atomic>
#include <memory>

#include "cli/commands.h"
#include "cli/measuring/run_options.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/command/suite.h"
#include "headroom/console/completion.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/results/record_files.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {
namespace {

// bash splits words at =, : and @, and replaces only the last part, including an @.
constexpr const char* kBash = R"(# bash completion of headroom: source <(headroom completion bash)
_headroom() {
  local line word typed kept files=
  local -a words
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:blank:]] ]] && words+=('')
  word=${words[-1]}
  typed=${COMP_WORDS[COMP_CWORD]}
  [[ $typed == [=:@] ]] && typed=
  kept=${word%"$typed"}
  kept=${kept%@}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then files=1; continue; fi
    line=${line%%$'\t'*}
    [[ $line == *[=,] ]] && compopt -o nospace
    COMPREPLY+=("${line#"$kept"}")
  done < <("${words[0]}" completion candidates -- "${words[@]:1}" 2>/dev/null)
  if [[ $files ]]; then
    compopt -o filenames
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$typed")
  fi
}
complete -F _headroom headroom
)";

constexpr const char* kZsh = R"(#compdef headroom
# zsh completion of headroom: source <(headroom completion zsh), or a file _headroom in a folder of $fpath
_headroom() {
  local line word files
  local -a whole open
  for line in "${(@f)$($words[1] completion candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    if [[ $line == :files ]]; then files=1; continue; fi
    word=${${line%%$'\t'*}//:/\\:}
    if [[ $word == *[=,] ]]; then open+=("$word:${line#*$'\t'}"); else whole+=("$word:${line#*$'\t'}"); fi
  done
  (( $#whole )) && _describe headroom whole
  (( $#open )) && _describe headroom open -S ''
  [[ -n $files ]] && _files
  return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _headroom "$@"; else compdef _headroom headroom; fi
)";

constexpr const char* kFish = R"(# fish completion of headroom: headroom completion fish | source
function __headroom_candidates
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion candidates -- $words[2..-1] 2>/dev/null
end
complete -c headroom -f -a '(__headroom_candidates | string match -v :files)'
complete -c headroom -n '__headroom_candidates | string match -q :files' -F
)";

constexpr ConstantHelp kExamples[] = {
    {"source <(headroom completion bash)", "in ~/.bashrc; zsh: the same in ~/.zshrc, after compinit"},
    {"headroom completion zsh > ~/.zfunc/_headroom", "or a file in a folder of $fpath"},
    {"headroom completion fish > ~/.config/fish/completions/headroom.fish", ""},
    {"headroom completion candidates -- run --ba",
     "the query of the scripts: a word, a tab and its help per line"},
};

constexpr const char* kDetails[] = {
    "The Debian package and the wheel install the scripts.",
};

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  throw Error("no completions for " + quote(shell) +
              did_you_mean(shell, std::vector<std::string>{"bash", "zsh", "fish"}) +
              "; supported are bash, zsh and fish");
}

std::vector<RunnerOffer> query_offers(const Arguments& words) {
  Arguments asked{"--list"};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--runner") asked.insert(asked.end(), {words[i], words[i + 1]});
  }
  std::vector<RunnerOffer> offers;
  run_table([&](const RunOptions& options) {
    const std::atomic<bool> never{false};
    offers = Session(options.request, std::make_shared<const Environment>(), never).offers();
    return ExitCode::kSuccess;
  }).run(asked);
  return offers;
}

/// "D=" of each axis; after "D=", its values.
void add_axes(const ExperimentDescription& experiment, const std::string& typed, Candidates& found) {
  for (const Axis& axis : experiment.axes) {
    if (!typed.starts_with(axis.name + "=")) {
      found.words.push_back({axis.name + "=", join(axis.values, ",")});
      continue;
    }
    for (const std::string& value : axis.values)
      found.words.push_back({axis.name + "=" + value, experiment.name});
  }
}

void add_runner_candidates(Completes what, const Arguments& words, Candidates& found) {
  for (const RunnerOffer& offer : query_offers(words)) {
    for (const ExperimentDescription& experiment : offer.experiments) {
      if (what == Completes::kExperiment) found.words.push_back({experiment.name, experiment.summary});
      if (what == Completes::kAxis) add_axes(experiment, words.back(), found);
      if (what != Completes::kBackend) continue;
      for (const std::string& backend : experiment.backends) found.words.push_back({backend, offer.label});
    }
  }
}

void add_values(Completes what, const Arguments& words, Candidates& found) {
  switch (what) {
    case Completes::kExperiment:
    case Completes::kAxis:
    case Completes::kBackend:
      return add_runner_candidates(what, words, found);
    case Completes::kRun:
    case Completes::kFileOrRun:
      return add_run_candidates(what, words, found);
    case Completes::kSuite:
      for (const ShippedSuite& suite : shipped_suites()) found.words.push_back({std::string(suite.name), ""});
      return;
    default:
      return;
  }
}

Candidates command_names(const std::string& typed) {
  Candidates found;
  for (const Command& command : commands()) found.words.push_back({command.name, command.summary});
  found.words.insert(found.words.end(),
                     {{"help", "show the help of a command"}, {"--version", ""}, {"--help", ""}});
  keep_matching(found, typed);
  return found;
}

/// `all`: the command line without its first word.
ExitCode complete_command_line(const Arguments& all) {
  if (all.size() < 2 || (all.size() == 2 && all.front() == "help")) {
    print_candidates(command_names(all.empty() ? "" : all.back()));
    return ExitCode::kSuccess;
  }
  const auto command =
      std::ranges::find(commands(), all.front(), [](const Command& one) { return one.name; });
  if (command == commands().end()) return ExitCode::kSuccess;
  Arguments words(all.begin() + 1, all.end());
  if (command->program == nullptr) {
    print_candidates(candidates_of(*command, words, add_values));
  } else if (!find_program_of_ours(command->program).empty()) {
    run_program(command->program, query_arguments(*command, kCandidatesAction, words));
  }
  return ExitCode::kSuccess;
}

}  // namespace

std::vector<CommandWord> completion_words() {
  return {{"bash", "print the script for bash"},
          {"zsh", "print the script for zsh"},
          {"fish", "print the script for fish"}};
}

OptionTable completion_options(Arguments& arguments) {
  OptionTable table("Print the script that completes commands, options and their values in a shell.",
                    "headroom completion");
  table.examples(kExamples);
  table.details(kDetails);
  if (!arguments.empty() && arguments.front() == "candidates") {
    const auto end = std::ranges::find(arguments, "--");
    table.finish([words = end == arguments.end() ? Arguments{} : Arguments(end + 1, arguments.end())] {
      return complete_command_line(words);
    });
    arguments.clear();
    return table;
  }
  auto& shell = table.own<std::string>();
  table.add_option("SHELL", shell, "bash, zsh or fish").required();
  table.finish([&shell] {
    print_text(completion_script(shell), stdout);
    return ExitCode::kSuccess;
  });
  return table;
}

}  // namespace headroom::cli
