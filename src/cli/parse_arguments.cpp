// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
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

/// Says of a value what it is: "N" where CLI11 has "INT:INT in [1 - 4096]", the choices alone where it has
/// "TEXT:{gloo,nccl}". The range is told where a value is outside it.
class HelpText : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::size_t begin = text.find_first_not_of(' ');
    const std::size_t colon = text.find(':');
    if (begin == std::string::npos) return text;
    if (colon != std::string::npos && text.substr(colon).starts_with(":{")) {
      text.erase(begin, colon + 1 - begin);
    } else if (text.substr(begin).starts_with("INT") || text.substr(begin).starts_with("UINT") ||
               text.substr(begin).starts_with("FLOAT")) {
      const std::size_t bracket = text.find(']');
      const std::size_t end = bracket != std::string::npos ? bracket + 1 : text.find(' ', begin);
      text.replace(begin, end == std::string::npos ? end : end - begin, "N");
    }
    return text;
  }
};

std::string reason(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(app);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return missing_values(app, error.what());
  return error.what();
}

}  // namespace

std::optional<ExitCode> parse_arguments(CLI::App& app, const Arguments& arguments) {
  app.formatter(std::make_shared<HelpText>());
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
