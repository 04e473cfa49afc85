// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/command.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "headroom/base/text.h"
#include "headroom/console/completion.h"
#include "headroom/console/option_table.h"

namespace headroom::cli {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string heading(const std::string& name, const std::string& summary) {
  std::string title = name;
  std::ranges::replace(title, ' ', '-');
  std::string upper = title;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return ".TH \"" + escaped(upper) + "\" 1 \"\" \"headroom " HEADROOM_VERSION "\" \"headroom\"\n.SH NAME\n" +
         escaped(title) + " \\- " + escaped(summary) + "\n";
}

std::string entry(const Option& option) {
  std::string names;
  for (const std::string& name : option.all_names()) {
    names += (names.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
  }
  const std::string value = option.is_operand() ? "" : option.value_text();
  if (!value.empty()) names += " \\fI" + escaped(value) + "\\fR";
  return ".TP\n" + names + "\n" + escaped(option.help) + "\n";
}

std::string entries(const OptionTable& table, std::set<std::string>& known) {
  std::string text;
  for (const Option& option : table.options()) {
    if (known.insert(option.names).second) text += entry(option);
  }
  return text;
}

std::string example(const HelpEntry& entry) {
  return ".TP\n\\fB" + escaped(entry.name) + "\\fR\n" + escaped(entry.text) + "\n";
}

constexpr const char* kExitCodes =
    ".SH EXIT STATUS\n"
    "0 success, 1 the answer is no (a regression, a missed target, a failed case), 2 error,\n"
    "3 inconclusive, 130 interrupted.\n";

}  // namespace

std::string man_page(const Command& command) {
  const OptionTable table = option_table(command, {});
  const std::string name = std::string("headroom ") + command.name;
  std::string text = heading(name, command.summary);
  text += ".SH SYNOPSIS\n\\fBheadroom " + escaped(command.name) + "\\fR [\\fIOPTION\\fR]...";
  for (const Option& option : table.options()) {
    if (option.is_operand()) text += " [\\fI" + escaped(option.names) + "\\fR]...";
  }
  text += "\n.SH DESCRIPTION\n" + escaped(table.description()) + "\n.SH OPTIONS\n";
  std::set<std::string> known;
  text += entries(table, known);
  for (const CommandWord& word : command.words != nullptr ? command.words() : std::vector<CommandWord>{}) {
    const OptionTable own = option_table(command, {word.name});
    text += ".SS \"" + escaped(name + " " + word.name) + "\"\n" + escaped(word.summary) + "\n";
    std::set<std::string> of_both = known;
    text += entries(own, of_both);
  }
  if (!table.details().empty()) text += ".SH NOTES\n";
  for (const std::string& paragraph : table.details()) text += ".PP\n" + escaped(paragraph) + "\n";
  text += ".SH EXAMPLES\n";
  for (const HelpEntry& entry : table.examples()) text += example(entry);
  text += kExitCodes;
  return text + ".SH SEE ALSO\n.BR headroom (1)\n";
}

std::string man_page(std::span<const Command> commands) {
  std::string text =
      heading("headroom", "measure how fast a tensor program is, and how fast this machine could run it");
  text +=
      ".SH SYNOPSIS\n"
      "\\fBheadroom\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
      ".SH DESCRIPTION\n"
      "Measures how fast a tensor program is, how fast this machine could run it, and whether it got "
      "slower.\n"
      ".SH COMMANDS\n";
  for (const Command& command : commands) {
    text += ".TP\n\\fB" + escaped(command.name) + "\\fR\n" + escaped(command.summary) +
            "; see \\fBheadroom\\-" + escaped(command.name) + "\\fR(1)\n";
  }
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n"
      "\\fBHEADROOM_STORE\\fR\n"
      "the history: a file, or postgresql://USER@HOST/NAME\n"
      ".TP\n"
      "\\fBHEADROOM_ISA\\fR\n"
      "the highest instruction set for native kernels: baseline, avx2, avx512, avx512_vnni, avx512_bf16\n";
  return text + kExitCodes;
}

}  // namespace headroom::cli
