// SPDX-License-Identifier: Apache-2.0
// The only file that includes CLI11, which takes four seconds to compile.

#include "headroom/console/option_table.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <type_traits>

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

/// Replaces CLI11's "--export: 2 required [TEXT,TEXT] missing" by the description.
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

/// Simplifies placeholders: "N" for "INT:INT in [1 - 4096]", choices for "TEXT:{gloo,nccl}".
class HelpText : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_operand) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_operand);
    for (std::size_t open; (open = name.find('{')) != std::string::npos;)
      name.erase(open, name.find('}', open) + 1 - open);
    return name;
  }
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
  if (!option.value_name.empty()) declared->type_name(option.value_name);
  if (option.values_at_once > 0) declared->type_size(option.values_at_once);
  if (option.most_values >= 0) declared->expected(option.least_values, option.most_values);
  if (option.most_values > 1)
    declared->multi_option_policy(CLI::MultiOptionPolicy::Throw);  // rejects surplus values
  if (option.is_required) declared->required();
  if (!option.group.empty()) declared->group(option.group);
  if (!option.choices.empty()) declared->check(CLI::IsMember(option.choices));
  if (option.bounds) declared->check(CLI::Range(option.bounds->first, option.bounds->second));
  return *declared;
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

Option& OptionTable::add(std::string names, OptionTarget target, std::string help) {
  return options_.emplace_back(Option{std::move(names), target, std::move(help)});
}

const bool& OptionTable::add_no_follow() {
  add_flag("--no-follow", *(no_follow_ = &own<bool>()), "do not write through symbolic links");
  return *no_follow_;
}

void OptionTable::finish(std::function<ExitCode()> action) {
  std::string& color = own<std::string>();
  color = "auto";
  add_option("--color", color,
             "colours in tables: auto (on a terminal, unless NO_COLOR is set), always, never")
      .one_of({"auto", "always", "never"});
  action_ = [&color, no_follow = no_follow_, action = std::move(action)] {
    if (no_follow != nullptr && *no_follow) refuse_links();
    choose_colour(color);
    return action();
  };
}

ExitCode OptionTable::run(const Arguments& arguments) {
  CLI::App app(description_, name_);
  app.formatter(std::make_shared<HelpText>());
  app.footer(footer_);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.allow_extras(extras_ != nullptr);
  std::vector<const CLI::Option*> declared;
  for (const Option& option : options_) declared.push_back(&declare(app, option));
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return ExitCode::kSuccess;
    }
    print_message("{} ({} --help shows all, with examples)", reason(app, error), app.get_name());
    return ExitCode::kError;
  }
  for (std::size_t i = 0; i < declared.size(); ++i) options_[i].count = declared[i]->count();
  if (extras_ != nullptr) *extras_ = app.remaining();
  return action_();
}

ExitCode Command::run(Arguments arguments) const {
  OptionTable table = options(arguments);
  return table.run(arguments);
}

}  // namespace headroom::cli
