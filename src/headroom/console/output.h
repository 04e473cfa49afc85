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

/// Escapes `text` (visible()). Everything but JSON and sheets goes through here.
void print_text(std::string_view text, std::FILE* out);

/// Prints "headroom: SENTENCE".
void print_sentence(std::string_view sentence);
template <typename... Args>
void print_message(fmt::format_string<Args...> format, Args&&... args) {
  print_sentence(fmt::format(format, std::forward<Args>(args)...));
}

/// COLUMNS, or the terminal's width; 0 (no limit) for files and pipes, so that their content depends only on
/// the results.
std::size_t terminal_width(std::FILE* out);

/// Progress line on standard error, redrawn in place and removed at the end. Nothing without a terminal.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool is_shown() const { return is_terminal_; }
  /// Fits the line to the terminal: shortens `name`, then cuts the end.
  void draw(std::string_view before, std::string_view name, std::string_view after);
  void clear();

 private:
  bool is_terminal_, is_drawn_ = false;
};

/// --color: "auto", "always" or "never". "auto" means a capable terminal without NO_COLOR
/// (https://no-color.org).
void choose_colour(const std::string& when);

TableForm table_form(std::FILE* out, bool markdown);

void print_view(const View& view, std::FILE* out, bool markdown = false);

void print_table(const Table& table, std::FILE* out);

/// Opens /dev/null for them: a file opened later would get their numbers. Writing to a closed standard output
/// still fails.
void open_closed_streams();

/// Returns `code`, or kError with a message if a write failed. Call last.
ExitCode after_output(ExitCode code);

}  // namespace headroom::cli
