// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/tables/table.h"

namespace headroom::cli {

/// Text for people, as a terminal may see it: names of kernels and cases and what programs say are of
/// strangers (visible()). All that the command line prints but JSON goes through here.
void print_text(std::string_view text, std::FILE* out);

/// "headroom: " and a sentence on standard error.
void say_sentence(std::string_view sentence);
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_sentence(fmt::format(format, std::forward<Args>(args)...));
}

/// Characters in a line of the terminal that `out` is; 0 (no limit) where it is none: what is written to
/// files and pipes depends on nothing but the results.
std::size_t terminal_width(std::FILE* out);

/// One line of standard error that says how far the work is, redrawn in place and gone at the end. Nothing
/// where standard error is no terminal.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool is_shown() const { return is_terminal_; }
  /// Fits the line to the terminal as it is now: `name` is shortened first, then the end is cut.
  void draw(std::string_view before, std::string_view name, std::string_view after);
  void clear();

 private:
  bool is_terminal_, is_drawn_ = false;
};

/// What --color said, of every command: "auto", "always" or "never". Without it "auto": a terminal that can,
/// unless NO_COLOR is set (https://no-color.org).
void choose_colour(const std::string& when);

/// How tables on `out` are shown.
TableForm form_for(std::FILE* out, bool markdown);

/// Shows the answer, the tables and their notes on `out`.
void print_sheet(const Sheet& sheet, std::FILE* out, bool markdown = false);

/// Shows a table that answers no question: a list.
void print_table(const Table& table, std::FILE* out);

/// Opens /dev/null in place of each standard stream that is closed: a file that is opened later would have
/// its number, and what is meant for the terminal would be written into it. Writing to a standard output
/// that was closed still fails, and after_output() says so.
void open_closed_streams();

/// `code`; kCannot, said on standard error, where not all that was printed to standard output could be
/// written. The last thing that a program does.
ExitCode after_output(ExitCode code);

}  // namespace headroom::cli
