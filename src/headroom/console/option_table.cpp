// SPDX-License-Identifier: Apache-2.0
// Only this file includes CLI11: it takes four seconds to compile.

#include "headroom/console/option_table.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/console/output.h"

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
    // Every one-letter option is similar to any other.
    if (!name.starts_with("--")) names.clear();
    return "unknown option " + quote(name) + did_you_mean(name, names);
  }
  return "unexpected argument: " + quote(app.remaining().front());
}

/// Replaces CLI11's "--export: 2 required [TEXT,TEXT] missing".
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

CLI::Option& declare(CLI::App& app, const Option& option) {
  CLI::Option* declared = std::visit(
      [&](auto* target) -> CLI::Option* {
        using Target = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, bool> || std::is_same_v<Target, std::string>) {
          if (option.is_flag()) return app.add_flag(option.names, *target, option.help);
        }
        return app.add_option(option.names, *target, option.help);
      },
      option.target);
  if (option.keeps_all) declared->take_all();
  if (option.takes_one) declared->allow_extra_args(false);
  if (option.separator != '\0') declared->delimiter(option.separator);
  if (option.values_at_once > 0) declared->type_size(option.values_at_once);
  if (option.most_values >= 0) declared->expected(option.least_values, option.most_values);
  if (option.most_values > 1)
    declared->multi_option_policy(CLI::MultiOptionPolicy::Throw);  // rejects surplus values
  if (option.is_required) declared->required();
  if (!option.choices.empty()) declared->check(CLI::IsMember(option.choices));
  if (option.bounds) declared->check(CLI::Range(option.bounds->first, option.bounds->second));
  return *declared;
}

/// "last" is "@last" for an operand that may be a run, unless it is a file.
void name_last_run(const Option& option) {
  const auto name = [](std::string& word) {
    std::error_code ignored;
    if (word == "last" && !std::filesystem::exists(word, ignored)) word = "@last";
  };
  if (option.completes != Completes::kFileOrRun) return;
  if (auto* const* word = std::get_if<std::string*>(&option.target)) name(**word);
  if (auto* const* words = std::get_if<std::vector<std::string>*>(&option.target))
    std::ranges::for_each(**words, name);
}

/// Options of one name mean one kind of value in every command.
const std::vector<std::pair<const char*, std::vector<std::string_view>>>& kinds() {
  static const std::vector<std::pair<const char*, std::vector<std::string_view>>> kKinds{
      {"NAME", {"--backend",          "--benchmark", "--dtype",           "--format",  "--from",
                "--higher-is-better", "--layer",     "--lower-is-better", "--machine", "--device",
                "--metric",           "--mode",      "--model",           "--name",    "--order",
                "--python",           "--reducer",   "--series",          "--suite",   "--unit"}},
      {"LIST",
       {"--batch", "--batch-size", "--bucket-size", "--context", "--draft", "--mesh", "--collectives", "--op",
        "--percentile", "--placements", "--ranks", "--shape", "--threads", "--tokens"}},
      {"COMMAND", {"--cleanup", "--conclude", "--confirm", "--prepare", "--setup"}},
      {"PATTERN", {"--communication", "--filter", "--only"}},
      {"FILE",
       {"--csv", "--expect", "--gate-file", "--json", "--limits", "--module", "--oss", "--output",
        "--records", "--svg", "--targets"}},
      {"GATE", {"--gate"}},
      {"SIZE", {"--image-size", "--max-bytes", "--max-memory", "--min-bytes"}},
      {"TENSOR", {"--input"}},
      {"FOLDER", {"--keep", "--site", "--trace"}},
      {"PERCENT", {"--margin", "--min-magnitude", "--precision", "--run-spread"}},
      {"TIME", {"--max-time", "--min-time", "--timeout"}},
      {"AGE", {"--older-than"}},
      {"PATH:SYMBOL", {"--peer"}},
      {"PROGRAM", {"--runner"}},
      {"FD", {"--runner-socket"}},
      {"OPTION=VALUE", {"--set"}},
      {"STORE", {"--store"}},
      {"TITLE", {"--title"}}};
  return kKinds;
}

}  // namespace

std::vector<std::string> Option::all_names() const {
  std::vector<std::string> all;
  for (std::string name : split(names, ',')) {
    if (name.starts_with('!')) name.erase(0, 1);
    all.push_back(name.substr(0, name.find('{')));
  }
  return all;
}

std::string Option::value_text() const {
  if (is_flag()) return "";
  if (!value_name.empty()) return value_name;
  if (!choices.empty()) return join(choices, "|");
  if (!takes_text()) return "N";
  const std::vector<std::string> own = all_names();
  for (const auto& [kind, options] : kinds()) {
    if (std::ranges::find_first_of(own, options) != own.end()) return kind;
  }
  switch (completes) {
    case Completes::kFile:
      return "FILE";
    case Completes::kExperiment:
      return "NAME";
    case Completes::kAxis:
      return "AXIS=VALUES";
    case Completes::kBackend:
      return "NAME";
    case Completes::kRun:
      return "RUN";
    case Completes::kSuite:
      return "SUITE";
    case Completes::kFileOrRun:
      return "FILE";
    case Completes::kNothing:
      break;
  }
  return "TEXT";
}

Option& OptionTable::add(std::string names, OptionTarget target, std::string help) {
  Option& option = options_.emplace_back(Option{std::move(names), target, std::move(help)});
  option.group = group_;
  return option;
}

const bool& OptionTable::add_no_follow() {
  add_flag("--no-follow", *(no_follow_ = &own<bool>()), "do not write through symbolic links");
  return *no_follow_;
}

void OptionTable::finish(std::function<ExitCode()> action) {
  group_ = "options";
  std::string& color = own<std::string>();
  color = "auto";
  add_option("--color", color, "colours in tables; auto: on a terminal, unless NO_COLOR is set")
      .one_of({"auto", "always", "never"});
  add_flag("-h,--help", own<bool>(), "print this help");
  action_ = [&color, no_follow = no_follow_, action = std::move(action)] {
    if (no_follow != nullptr && *no_follow) refuse_links();
    choose_colour(color);
    return action();
  };
}

ExitCode OptionTable::run(const Arguments& given) {
  const auto end = std::ranges::find(given, "--");
  if (std::any_of(given.begin(), end,
                  [](const std::string& word) { return word == "--help" || word == "-h"; })) {
    const std::size_t columns = terminal_width(stdout);
    std::fputs(help(columns > 0 ? std::max<std::size_t>(columns, 40) : 80).c_str(), stdout);
    return ExitCode::kSuccess;
  }
  const Arguments arguments = translated(given);
  CLI::App app(description_, name_);
  app.set_help_flag();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.allow_extras(extras_ != nullptr);
  std::vector<const CLI::Option*> declared;
  for (const Option& option : options_) declared.push_back(&declare(app, option));
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    print_message("{} ({} --help shows all, with examples)", reason(app, error), app.get_name());
    return ExitCode::kError;
  }
  for (std::size_t i = 0; i < declared.size(); ++i) options_[i].count = declared[i]->count();
  std::ranges::for_each(options_, name_last_run);
  if (extras_ != nullptr) *extras_ = app.remaining();
  return action_();
}

ExitCode Command::run(Arguments arguments) const {
  OptionTable table = options(arguments);
  return table.run(arguments);
}

}  // namespace headroom::cli
