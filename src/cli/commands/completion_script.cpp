// SPDX-License-Identifier: Apache-2.0
// The scripts know nothing of headroom but that it answers: what they offer is said in completion.cpp.
#include "cli/commands/completion_candidates.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

// bash splits words at = : and @, and replaces only what stands behind the last of them, an @ included.
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

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  throw Error("no completions for " + in_quotes(shell) +
              did_you_mean(shell, std::vector<std::string>{"bash", "zsh", "fish"}) +
              "; there are those for bash, zsh and fish");
}

}  // namespace headroom::cli
