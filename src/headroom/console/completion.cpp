// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/completion.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "headroom/base/error.h"

namespace headroom::cli {
namespace {

void add_values(const Option& option, const Arguments& words, const ValueSource& values, Candidates& found) {
  for (const std::string& choice : option.choices) found.words.push_back({choice, ""});
  found.files = option.takes_text() && option.choices.empty() &&
                (option.completes == Completes::kFile || option.completes == Completes::kFileOrRun ||
                 option.completes == Completes::kSuite);
  if (!values) return;
  try {
    values(option.completes, words, found);
  } catch (const std::exception&) {
    // Shells cannot show errors; the command itself will.
  }
}

void narrow(Candidates& found, const std::string& typed, const std::string& kept) {
  std::set<std::string> seen;
  std::erase_if(found.words, [&](const Candidate& candidate) {
    return !candidate.word.starts_with(typed) || !seen.insert(candidate.word).second;
  });
  for (Candidate& candidate : found.words) candidate.word.insert(0, kept);
}

Candidates values_of(const Option& option, Arguments words, const ValueSource& values,
                     const std::string& kept) {
  Candidates found;
  std::string before = kept, typed = words.back().substr(kept.size());
  if (option.separator != '\0') {
    const std::size_t end = typed.rfind(option.separator) + 1;  // 0 without a separator
    before += typed.substr(0, end);
    typed.erase(0, end);
  }
  words.back() = typed;
  add_values(option, words, values, found);
  narrow(found, typed, before);
  return found;
}

Candidates option_names(const OptionTable& table, const std::string& typed) {
  Candidates found;
  for (const Option& option : table.options()) {
    if (option.is_operand()) continue;
    for (const std::string& name : option.all_names()) found.words.push_back({name, option.help});
  }
  found.words.push_back({"--help", "show all options, with examples"});
  narrow(found, typed, "");
  return found;
}

/// Returns nullptr if no option expects a value.
const Option* waiting_option(const OptionTable& table, const Arguments& words) {
  if (words.size() < 2) return nullptr;
  const Option* option = table.find(words[words.size() - 2]);
  const bool waits =
      option != nullptr && !option->is_flag() && !option->is_operand() && option->least_values != 0;
  return waits ? option : nullptr;
}

Candidates operands(const Command& command, const OptionTable& table, const Arguments& words,
                    const ValueSource& values) {
  Candidates found;
  for (const Option& option : table.options()) {
    if (option.is_operand()) found = values_of(option, words, values, "");
  }
  if (words.size() > 1 || command.words == nullptr) return found;
  Candidates first;
  for (const CommandWord& word : command.words()) first.words.push_back({word.name, word.summary});
  narrow(first, words.back(), "");
  found.words.insert(found.words.begin(), first.words.begin(), first.words.end());
  return found;
}

}  // namespace

OptionTable option_table(const Command& command, Arguments words) {
  try {
    return command.options(words);
  } catch (const Error&) {
    words.clear();
    return command.options(words);
  }
}

void keep_matching(Candidates& found, const std::string& typed) {
  narrow(found, typed, "");
}

void print_candidates(const Candidates& found) {
  for (const Candidate& one : found.words) std::printf("%s\t%s\n", one.word.c_str(), one.help.c_str());
  if (found.files) std::puts(":files");
}

Candidates candidates_of(const Command& command, const Arguments& words, const ValueSource& values) {
  if (words.empty()) return {};
  if (std::ranges::find(words.begin(), words.end() - 1, "--") != words.end() - 1) return {{}, true};
  const OptionTable table = option_table(command, {words.begin(), words.end() - 1});
  const std::string& typed = words.back();
  if (const Option* option = waiting_option(table, words)) return values_of(*option, words, values, "");
  const std::size_t equals = typed.find('=');
  if (typed.starts_with("--") && equals != std::string::npos) {
    const Option* option = table.find(typed.substr(0, equals));
    return option == nullptr ? Candidates{} : values_of(*option, words, values, typed.substr(0, equals + 1));
  }
  if (typed.starts_with("-") && typed != "-") return option_names(table, typed);
  return operands(command, table, words, values);
}

}  // namespace headroom::cli
