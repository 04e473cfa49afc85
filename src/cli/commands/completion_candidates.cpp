// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/completion_candidates.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>

#include "cli/commands/run_options.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/command/shipped_suites.h"
#include "headroom/history/store.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {
namespace {

const Command* command_named(const std::string& name) {
  const auto all = commands();
  const auto found = std::ranges::find(all, name, [](const Command& command) { return command.name; });
  return found == all.end() ? nullptr : &*found;
}

const Option* option_named(const OptionTable& table, const std::string& name) {
  for (const Option& option : table.options()) {
    const std::vector<std::string> names = option.all_names();
    if (std::ranges::find(names, name) != names.end()) return &option;
  }
  return nullptr;
}

std::vector<RunnerOffer> offers_of(const Arguments& words) {
  Arguments asked{"--list"};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--runner") asked.insert(asked.end(), {words[i], words[i + 1]});
  }
  const std::atomic<bool> never{false};
  const Session session(parse_run_options(asked).request, std::make_shared<const Environment>(), never);
  return session.offers();
}

/// "D=" of each axis, or behind one that is there already its values: "D=1024".
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

void add_of_runners(Completes what, const Arguments& words, Candidates& found) {
  for (const RunnerOffer& offer : offers_of(words)) {
    for (const ExperimentDescription& experiment : offer.experiments) {
      if (what == Completes::kExperiment) found.words.push_back({experiment.name, experiment.summary});
      if (what == Completes::kAxis) add_axes(experiment, words.back(), found);
      if (what != Completes::kBackend) continue;
      for (const std::string& backend : experiment.backends) found.words.push_back({backend, offer.label});
    }
  }
}

void add_runs(Candidates& found) {
  constexpr std::size_t kNewest = 20;
  found.words.push_back({"@last", "the last run"});
  found.words.push_back({"@unfinished", "what a command had measured that was killed"});
  for (const StoredRun& run : open_store(default_store(), StoreAccess::kRead)->runs(kNewest)) {
    found.words.push_back({"@" + std::to_string(run.id), run.command});
  }
}

/// What fits the value of an option or an operand.
void add_values(const Option& option, const Arguments& words, Candidates& found) {
  for (const std::string& choice : option.choices) found.words.push_back({choice, ""});
  found.files = option.takes_text() && option.choices.empty() &&
                (option.completes == Completes::kFile || option.completes == Completes::kFileOrRun);
  try {
    switch (option.completes) {
      case Completes::kExperiment:
      case Completes::kAxis:
      case Completes::kBackend:
        add_of_runners(option.completes, words, found);
        break;
      case Completes::kRun:
      case Completes::kFileOrRun:
        add_runs(found);
        break;
      case Completes::kSuite:
        found.files = true;
        for (const ShippedSuite& suite : shipped_suites())
          found.words.push_back({std::string(suite.name), ""});
        break;
      default:
        break;
    }
  } catch (const std::exception&) {
    // A shell has no place for what went wrong: the command itself says it.
  }
}

/// Keeps what begins with what is typed, once each, and puts `kept` before it.
void narrow(Candidates& found, const std::string& typed, const std::string& kept) {
  std::set<std::string> seen;
  std::erase_if(found.words, [&](const Candidate& candidate) {
    return !candidate.word.starts_with(typed) || !seen.insert(candidate.word).second;
  });
  for (Candidate& candidate : found.words) candidate.word.insert(0, kept);
}

Candidates values_of(const Option& option, Arguments words, const std::string& kept) {
  Candidates found;
  std::string before = kept, typed = words.back().substr(kept.size());
  if (option.separator != '\0') {
    const std::size_t end = typed.rfind(option.separator) + 1;  // 0 where there is none
    before += typed.substr(0, end);
    typed.erase(0, end);
  }
  words.back() = typed;
  add_values(option, words, found);
  narrow(found, typed, before);
  return found;
}

Candidates option_names(const OptionTable& table, const std::string& typed) {
  Candidates found;
  for (const Option& option : table.options()) {
    if (option.is_operand()) continue;
    for (const std::string& name : option.all_names()) found.words.push_back({name, option.help});
  }
  found.words.push_back({"--help", "all options, with examples"});
  narrow(found, typed, "");
  return found;
}

Candidates command_names(const std::string& typed) {
  Candidates found;
  for (const Command& command : commands()) found.words.push_back({command.name, command.summary});
  found.words.insert(found.words.end(), {{"help", "of a command"}, {"--version", ""}, {"--help", ""}});
  narrow(found, typed, "");
  return found;
}

/// Whether an option that takes a value stands right before the last word.
const Option* waiting_option(const OptionTable& table, const Arguments& words) {
  if (words.size() < 2) return nullptr;
  const Option* option = option_named(table, words[words.size() - 2]);
  const bool waits =
      option != nullptr && !option->is_flag() && !option->is_operand() && option->least_values != 0;
  return waits ? option : nullptr;
}

Candidates operands(const Command& command, const OptionTable& table, const Arguments& words) {
  Candidates found;
  for (const Option& option : table.options()) {
    if (option.is_operand()) found = values_of(option, words, "");
  }
  if (words.size() > 1 || command.words == nullptr) return found;
  Candidates first;
  for (const CommandWord& word : command.words()) first.words.push_back({word.name, word.summary});
  narrow(first, words.back(), "");
  found.words.insert(found.words.begin(), first.words.begin(), first.words.end());
  return found;
}

}  // namespace

OptionTable option_table(const Command& command, const Arguments& words) {
  for (Arguments asked : {words, Arguments{}}) {
    asked.emplace_back(kDescribe);
    try {
      command.run(asked);
    } catch (const OptionTable& table) {
      return table;
    } catch (const Error&) {
      // Words that say nothing to the command: its own options, then.
    }
  }
  throw std::logic_error(std::string("headroom ") + command.name + " has no table of options");
}

Candidates candidates(const Arguments& all) {
  if (all.empty()) return command_names("");
  if (all.size() == 1 || (all.size() == 2 && all.front() == "help")) return command_names(all.back());
  const Command* command = command_named(all.front());
  if (command == nullptr) return {};
  const Arguments words(all.begin() + 1, all.end());
  if (std::ranges::find(words.begin(), words.end() - 1, "--") != words.end() - 1) return {{}, true};
  Arguments before(words.begin(), words.end() - 1);
  const OptionTable table = option_table(*command, before);
  const std::string& typed = words.back();
  if (const Option* option = waiting_option(table, words)) return values_of(*option, words, "");
  const std::size_t equals = typed.find('=');
  if (typed.starts_with("--") && equals != std::string::npos) {
    const Option* option = option_named(table, typed.substr(0, equals));
    return option == nullptr ? Candidates{} : values_of(*option, words, typed.substr(0, equals + 1));
  }
  if (typed.starts_with("-") && typed != "-") return option_names(table, typed);
  return operands(*command, table, words);
}

}  // namespace headroom::cli
