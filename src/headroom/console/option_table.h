// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headroom/console/command.h"

namespace headroom::cli {

/// Where the value of an option goes.
using OptionTarget =
    std::variant<bool*, int*, std::uint16_t*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::optional<std::int64_t>*, std::vector<std::string>*, std::vector<int>*,
                 std::vector<double>*, std::vector<std::pair<std::string, std::string>>*>;

/// What a shell may offer for a value.
enum class Completes { kNothing, kFile, kExperiment, kAxis, kBackend, kRun, kSuite, kFileOrRun };

/// One option or operand of a command, as data: help, completions and man pages are made of it, and parsing.
struct Option {
  /// "-a,--axis"; of an operand what stands for it in help: "FILE". Of a flag "!--no-x" says no, and what
  /// "--shell{/bin/sh}" puts into a text where no value follows it stands in braces.
  std::string names;
  OptionTarget target;
  std::string help;
  std::string value_name{};  ///< what stands for the value in help; empty: by its type
  std::string group{};
  std::vector<std::string> choices{};
  std::optional<std::pair<std::int64_t, std::int64_t>> bounds{};
  char separator = '\0';
  int least_values = -1, most_values = -1;  ///< -1: by the type
  int values_at_once = 0;                   ///< 0: by the type
  bool keeps_all = false, takes_one = false, is_required = false;
  Completes completes = Completes::kNothing;
  std::size_t count = 0;  ///< how often it was given, once the arguments are parsed

  /// Given several times all values count; without it the last one does.
  Option& take_all() { return keeps_all = true, *this; }
  /// All values count, and each needs its option before it.
  Option& repeated() { return takes_one = true, take_all(); }
  Option& delimiter(char character) { return separator = character, *this; }
  Option& one_of(std::vector<std::string> words) { return choices = std::move(words), *this; }
  Option& range(std::int64_t least, std::int64_t most) { return bounds = {least, most}, *this; }
  Option& type_name(std::string name) { return value_name = std::move(name), *this; }
  Option& expected(int least, int most) { return least_values = least, most_values = most, *this; }
  Option& type_size(int values) { return values_at_once = values, *this; }
  Option& required() { return is_required = true, *this; }
  Option& in_group(std::string name) { return group = std::move(name), *this; }
  Option& completed_by(Completes what) { return completes = what, *this; }

  bool is_operand() const { return names[0] != '-'; }
  bool is_flag() const {
    return std::holds_alternative<bool*>(target) || names.find('{') != std::string::npos;
  }
  bool takes_text() const {
    return std::holds_alternative<std::string*>(target) ||
           std::holds_alternative<std::vector<std::string>*>(target);
  }
  /// "-a", "--axis".
  std::vector<std::string> all_names() const;
};

/// The options of a command. Of an option that is given twice the last one holds, so that an alias or a
/// script can be overruled; those that take several values say so (take_all).
class OptionTable {
 public:
  OptionTable(std::string description, std::string name);
  OptionTable(const OptionTable& other);
  ~OptionTable();

  template <typename T>
  Option& add_option(std::string names, T& target, std::string help) {
    return add(std::move(names), OptionTarget(&target), std::move(help));
  }
  template <typename T>
  Option& add_flag(std::string names, T& target, std::string help) {
    return add_option(std::move(names), target, std::move(help));
  }
  /// --no-follow, of every command that writes files which the user names.
  void add_no_follow();
  void footer(std::string text) { footer_ = std::move(text); }
  /// Arguments that no option takes are left in remaining().
  void allow_extras() { allows_extras_ = true; }

  const std::string& description() const { return description_; }
  /// "headroom run".
  const std::string& name() const { return name_; }
  /// Examples, and what else stands below the options.
  const std::string& footer() const { return footer_; }
  const std::deque<Option>& options() const { return options_; }
  bool allows_extras() const { return allows_extras_; }
  const Arguments& remaining() const { return remaining_; }
  /// How often the option with this name was given.
  std::size_t count(const std::string& name) const;

 private:
  Option& add(std::string names, OptionTarget target, std::string help);
  /// --color, of every command.
  void add_color();
  friend std::optional<ExitCode> parse_arguments(OptionTable& table, const Arguments& arguments);

  std::string description_, name_, footer_;
  std::deque<Option> options_;  // which stay where they are
  bool allows_extras_ = false;
  bool no_follow_ = false;
  std::string color_ = "auto";
  Arguments remaining_;
};

/// Parses what follows the command's name into the targets. Where the command is then done, because help was
/// asked for or the arguments are wrong, that has been told, and the result is the exit code. Where the table
/// itself is asked for (kDescribe), throws it.
std::optional<ExitCode> parse_arguments(OptionTable& table, const Arguments& arguments);

/// The only argument, last, by which a command throws its OptionTable instead of doing anything: completions
/// and man pages are made of it. Its targets are gone then.
constexpr const char* kDescribe = "--describe-options";

}  // namespace headroom::cli
