// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/suite.h"

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/command/measured_command.h"
#include "headroom/process/program_search.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCheckTimeout{60};

const SuiteOption& option_named(const Suite& suite, const std::string& name) {
  std::vector<std::string> names;
  for (const SuiteOption& option : suite.options) {
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  throw Error("the suite " + in_quotes(suite.name) + " has no option " + in_quotes(name) +
              did_you_mean(name, names) +
              (names.empty() ? "; it has none" : "; it has " + join(names, ", ")));
}

const std::vector<std::string>& arguments_of(const SuiteOption& option, const std::string& value) {
  std::vector<std::string> values;
  for (const auto& [name, arguments] : option.values) {
    if (name == value) return arguments;
    values.push_back(name);
  }
  throw Error("the option " + in_quotes(option.name) + " has no value " + in_quotes(value) + "; it has " +
              join(values, ", "));
}

/// The option that the whole of an argument names, or nullptr.
const SuiteOption* option_of_argument(const Suite& suite, std::string_view argument) {
  const auto found = std::ranges::find_if(
      suite.options, [&](const SuiteOption& option) { return "{" + option.name + "}" == argument; });
  return found == suite.options.end() ? nullptr : &*found;
}

/// Why the check of a suite fails; empty where it does not.
std::string check_failure(const std::vector<std::string>& arguments) {
  CommandSpec spec;
  spec.arguments = arguments;
  spec.timeout = kCheckTimeout;
  try {
    const CommandResult result = run_command(spec);
    if (result.ok()) return "";
    return result.error_lines.empty() ? result.failure() : result.error_lines.back();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

OptionValues option_values(const Suite& suite, const OptionValues& asked) {
  OptionValues values;
  for (const SuiteOption& option : suite.options) values[option.name] = option.fallback;
  for (const auto& [name, value] : asked) {
    arguments_of(option_named(suite, name), value);
    values[name] = value;
  }
  return values;
}

std::vector<std::string> known_placeholders(const std::vector<LayerSpec>& layers) {
  std::vector<std::string> names{"model", "output", "work", "python", "suite_dir", "here", "bin"};
  for (const LayerSpec& layer : layers) names.push_back("layer." + layer.name);
  return names;
}

std::vector<std::string> command_of(const Suite& suite, const OptionValues& chosen,
                                    const Placeholders& values) {
  std::vector<std::string> arguments;
  for (const std::string& argument : suite.command) {
    if (const SuiteOption* option = option_of_argument(suite, argument)) {
      for (const std::string& part : arguments_of(*option, chosen.at(option->name))) {
        arguments.push_back(fill_placeholders(part, values));
      }
    } else {
      arguments.push_back(fill_placeholders(argument, values));
    }
  }
  return arguments;
}

bool mentions_placeholder(const Suite& suite, std::string_view name) {
  const auto in_text = [&](const std::string& text) {
    const std::vector<std::string> names = placeholder_names(text);
    return std::ranges::find(names, name) != names.end();
  };
  const auto in_option = [&](const SuiteOption& option) {
    return std::ranges::any_of(option.values,
                               [&](const auto& value) { return std::ranges::any_of(value.second, in_text); });
  };
  return std::ranges::any_of(suite.command, in_text) || in_text(suite.folder) ||
         std::ranges::any_of(suite.options, in_option) ||
         std::ranges::any_of(suite.environment, [&](const auto& entry) { return in_text(entry.second); });
}

std::vector<std::string> lacking_for(const Suite& suite, const Placeholders& values) {
  if (mentions_placeholder(suite, "suite_dir") && !values.contains("suite_dir")) {
    return {"HEADROOM_SUITE_DIR, the folder of its program (or --pytorch DIR)"};
  }
  std::vector<std::string> lacking;
  for (const std::string& text : suite.needs.programs) {
    const std::string program = fill_placeholders(text, values);
    if (!find_program(program)) lacking.push_back("the program " + program);
  }
  for (const std::string& text : suite.needs.files) {
    const std::string file = fill_placeholders(text, values);
    std::error_code error;
    if (!fs::exists(file, error)) lacking.push_back("the file " + file);
  }
  if (!lacking.empty() || suite.needs.check.empty()) return lacking;
  std::vector<std::string> check;
  for (const std::string& text : suite.needs.check) check.push_back(fill_placeholders(text, values));
  if (std::string failure = check_failure(check); !failure.empty()) lacking.push_back(std::move(failure));
  return lacking;
}

}  // namespace headroom
