// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headroom/console/command.h"

namespace headroom::cli {

using OptionTarget =
    std::variant<bool*, int*, std::uint16_t*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::optional<std::int64_t>*, std::vector<std::string>*, std::vector<int>*,
                 std::vector<double>*, std::vector<std::pair<std::string, std::string>>*>;

enum class Completes { kNothing, kFile, kExperiment, kAxis, kBackend, kRun, kSuite, kFileOrRun };

/// Example, or a word that a command takes.
struct HelpEntry {
  std::string name, text;
};

struct ConstantHelp {
  const char* name;
  const char* text;
};

/// For the parser, help, completions and man pages.
struct Option {
  /// "-a,--axis", or the placeholder of an operand, "FILE". "!--no-x" negates a flag; "--shell{/bin/sh}" has
  /// a default.
  std::string names;
  OptionTarget target;
  std::string help;
  std::string value_name{};  ///< placeholder in help; empty: by type
  std::string group{};
  std::vector<std::string> choices{};
  std::optional<std::pair<std::int64_t, std::int64_t>> bounds{};
  char separator = '\0';
  int least_values = -1, most_values = -1;  ///< -1: by type
  int values_at_once = 0;                   ///< 0: by type
  bool keeps_all = false, takes_one = false, is_required = false;
  Completes completes = Completes::kNothing;
  std::size_t count = 0;  ///< times given, after parsing

  /// All values count; otherwise the last does.
  Option& take_all() { return keeps_all = true, *this; }
  /// As take_all(), each value after its own option.
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

  bool is_operand() const { return names[0] != '-' && names[0] != '!'; }
  bool is_flag() const {
    return std::holds_alternative<bool*>(target) || names.find('{') != std::string::npos;
  }
  bool takes_text() const {
    return std::holds_alternative<std::string*>(target) ||
           std::holds_alternative<std::vector<std::string>*>(target);
  }
  bool takes_number() const { return !is_flag() && !takes_text() && !takes_pairs(); }
  bool takes_pairs() const {
    return std::holds_alternative<std::vector<std::pair<std::string, std::string>>*>(target);
  }
  bool is_list() const { return !std::holds_alternative<std::string*>(target) && takes_text(); }
  std::vector<std::string> all_names() const;
  /// "FILE"; empty for a flag.
  std::string value_text() const;
};

/// Option of another tool.
struct ForeignOption {
  const char* names;  ///< "-w,--warmup"; "--benchmark_*": all that begin so, after the exact ones
  bool takes_value;
  const char* means;  ///< words of this command, "{}" for the value; "": no effect; null: refused
  const char* note = "";
};

/// Options of a command, the values that they fill, and its action. The last of repeated options counts
/// (except with take_all()), so that users can override aliases and scripts.
class OptionTable {
 public:
  OptionTable(std::string description, std::string name)
      : description_(std::move(description)), name_(std::move(name)) {}
  OptionTable(OptionTable&&) = default;  // move-only: actions refer to options

  /// The values live as long as the table.
  template <typename Values>
  Values& own() {
    const auto values = std::make_shared<Values>();
    owned_.push_back(values);
    return *values;
  }
  template <typename T>
  Option& add_option(std::string names, T& target, std::string help) {
    return add(std::move(names), OptionTarget(&target), std::move(help));
  }
  template <typename T>
  Option& add_flag(std::string names, T& target, std::string help) {
    return add_option(std::move(names), target, std::move(help));
  }
  /// For commands that write files named by the user.
  const bool& add_no_follow();
  /// Title of the options added from here on.
  void group(std::string title) { group_ = std::move(title); }
  void example(std::string command, std::string text = "") {
    examples_.push_back({std::move(command), std::move(text)});
  }
  void examples(std::span<const ConstantHelp> all) {
    for (const ConstantHelp& one : all) example(one.name, one.text);
  }
  void examples(std::initializer_list<ConstantHelp> all) { examples(std::span(all.begin(), all.size())); }
  /// Help after the options.
  void details(std::span<const char* const> paragraphs) {
    details_.insert(details_.end(), paragraphs.begin(), paragraphs.end());
  }
  void details(std::initializer_list<const char*> all) { details(std::span(all.begin(), all.size())); }
  /// Adds to the list called `title`.
  void list(std::string title, std::string name, std::string text) {
    lists_.emplace_back(std::move(title), HelpEntry{std::move(name), std::move(text)});
  }
  /// Foreign options are replaced, or answered by their note; not in help.
  void foreign(std::span<const ForeignOption> all) {
    foreign_.insert(foreign_.end(), all.begin(), all.end());
  }
  /// Returns the unknown arguments; they are accepted.
  const Arguments& allow_extras() { return *(extras_ = &own<Arguments>()); }
  /// Adds --color and the action.
  void finish(std::function<ExitCode()> action);
  /// Parses and takes the action, or prints help or errors.
  ExitCode run(const Arguments& given);
  const Option* find(const std::string& name) const;
  /// Index of the first word that is no option or its value, or of "--".
  std::size_t first_operand(const Arguments& arguments) const;
  /// Whether `arguments` are this command's options, with valid numbers. Short foreign ones do not count.
  bool takes_all(const Arguments& arguments) const;
  std::string help(std::size_t width) const;

  const std::string& description() const { return description_; }
  const std::string& name() const { return name_; }
  const std::vector<HelpEntry>& examples() const { return examples_; }
  const std::vector<std::string>& details() const { return details_; }
  const std::vector<std::pair<std::string, HelpEntry>>& lists() const { return lists_; }
  const std::deque<Option>& options() const { return options_; }

 private:
  Option& add(std::string names, OptionTarget target, std::string help);
  const ForeignOption* find_foreign(const std::string& name) const;
  /// Words of the option at `place`, with its values.
  std::size_t words_at(const Arguments& arguments, std::size_t place) const;
  /// Replaces foreign options and prints their notes. Throws Error for a refused one.
  Arguments translated(const Arguments& arguments) const;

  std::string description_, name_, group_ = "options";
  std::vector<HelpEntry> examples_;
  std::vector<std::string> details_;
  std::vector<std::pair<std::string, HelpEntry>> lists_;
  std::vector<ForeignOption> foreign_;
  std::deque<Option> options_;  // deque: addresses stay valid
  std::vector<std::shared_ptr<void>> owned_;
  bool* no_follow_ = nullptr;
  Arguments* extras_ = nullptr;
  std::function<ExitCode()> action_;
};

}  // namespace headroom::cli
