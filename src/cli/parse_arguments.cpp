// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string unexpected(const CLI::App& app) {
  for (const std::string& argument : app.remaining()) {
    if (!argument.starts_with("-")) continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> names = option_names(app);
    // Of one letter any other would be near.
    if (!name.starts_with("--")) names.clear();
    return "there is no option " + in_quotes(name) + did_you_mean(name, names);
  }
  return "one argument too many: " + in_quotes(app.remaining().front());
}

/// CLI11 says "--export: 2 required [TEXT,TEXT] missing", where the option's description says which.
std::string missing_values(const CLI::App& app, const std::string& what) {
  const std::string name = what.substr(0, what.find(':'));
  for (const CLI::Option* option : app.get_options()) {
    if (!what.ends_with("missing") || !option->check_name(name)) continue;
    const int values = option->get_type_size_min();
    return fmt::format("{} needs {}: {}", name, values < 2 ? "a value" : fmt::format("{} values", values),
                       option->get_description());
  }
  return what;
}

std::string reason(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(app);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return missing_values(app, error.what());
  return error.what();
}

}  // namespace

std::optional<ExitCode> parse_arguments(CLI::App& app, const Arguments& arguments) {
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return ExitCode::kFine;
    }
    std::fprintf(stderr, "headroom: %s (%s --help shows all, with examples)\n", reason(app, error).c_str(),
                 app.get_name().c_str());
    return ExitCode::kCannot;
  }
  return std::nullopt;
}

}  // namespace headroom::cli
