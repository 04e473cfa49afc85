// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/print_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace headroom::cli {
namespace {

/// Written once, when the arguments are read, and said of the whole process, as interrupts are.
std::string& chosen_colour() {
  static std::string chosen = "auto";
  return chosen;
}

bool shows_colour(std::FILE* out) {
  if (chosen_colour() != "auto") return chosen_colour() == "always";
  const char *refused = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool is_refused = refused != nullptr && refused[0] != '\0';
  const bool can = terminal != nullptr && terminal[0] != '\0' && std::string_view(terminal) != "dumb";
  return !is_refused && can && ::isatty(::fileno(out)) == 1;
}

}  // namespace

std::size_t terminal_width(std::FILE* out) {
  winsize size{};
  const int file = ::fileno(out);
  return ::isatty(file) == 1 && ::ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void choose_colour(const std::string& when) {
  chosen_colour() = when;
}

TableForm form_for(std::FILE* out, bool markdown) {
  return {markdown, terminal_width(out), !markdown && shows_colour(out)};
}

void print_sheet(const Sheet& sheet, std::FILE* out, bool markdown) {
  // Not by print_text, which would spell the colours: a sheet has spelled what is of strangers.
  const std::string text = sheet.text(form_for(out, markdown));
  std::fwrite(text.data(), 1, text.size(), out);
}

void print_table(const Table& table, std::FILE* out) {
  print_sheet(Sheet().table(table), out);
}

}  // namespace headroom::cli
