// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "headroom/base/text.h"
#include "headroom/tables/width.h"

namespace headroom::cli {
namespace {

/// Process-wide; written once.
std::string& chosen_colour() {
  static std::string chosen = "auto";
  return chosen;
}

std::string single_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return visible(line);
}

bool shows_colour(std::FILE* out) {
  if (chosen_colour() != "auto") return chosen_colour() == "always";
  const char *refused = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool is_refused = refused != nullptr && refused[0] != '\0';
  const bool can = terminal != nullptr && terminal[0] != '\0' && std::string_view(terminal) != "dumb";
  return !is_refused && can && ::isatty(::fileno(out)) == 1;
}

/// 0 without a terminal.
std::size_t screen_width(std::FILE* out) {
  winsize size{};
  const int file = ::fileno(out);
  return ::isatty(file) == 1 && ::ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

void print_text(std::string_view text, std::FILE* out) {
  const std::string shown = visible(text);
  std::fwrite(shown.data(), 1, shown.size(), out);
}

void print_sentence(std::string_view sentence) {
  print_text(fmt::format("headroom: {}\n", sentence), stderr);
}

std::size_t terminal_width(std::FILE* out) {
  const char* columns = std::getenv("COLUMNS");
  const std::optional<double> wanted = columns == nullptr ? std::nullopt : to_number(columns);
  constexpr double kWidest = 10'000;
  const bool is_width = wanted && *wanted >= 1 && *wanted <= kWidest;
  return is_width && ::isatty(::fileno(out)) == 1 ? static_cast<std::size_t>(*wanted) : screen_width(out);
}

StatusLine::StatusLine() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

void StatusLine::draw(std::string_view before, std::string_view name, std::string_view after) {
  if (!is_terminal_) return;
  constexpr std::size_t kUsual = 80, kMinNameWidth = 8;
  const std::size_t width = screen_width(stderr);
  // Some terminals wrap after the last column.
  const std::size_t columns = (width == 0 ? kUsual : width) - 1;
  const std::string head = single_line(before), tail = single_line(after);
  const std::size_t taken = display_width(head) + display_width(tail);
  const std::size_t left = std::max(kMinNameWidth, columns - std::min(columns, taken));
  const std::string line = shortened(head + shortened(single_line(name), left) + tail, columns);
  std::fputs(("\r\x1b[2K" + line).c_str(), stderr);
  std::fflush(stderr);
  is_drawn_ = true;
}

void StatusLine::clear() {
  if (is_drawn_) std::fputs("\r\x1b[2K", stderr);
  is_drawn_ = false;
}

void choose_colour(const std::string& when) {
  chosen_colour() = when;
}

TableForm table_form(std::FILE* out, bool markdown) {
  return {markdown, terminal_width(out), !markdown && shows_colour(out)};
}

void print_view(const View& view, std::FILE* out, bool markdown) {
  // print_text() would escape colours; sheets escape untrusted text themselves.
  const std::string text = view.text(table_form(out, markdown));
  std::fwrite(text.data(), 1, text.size(), out);
}

void print_table(const Table& table, std::FILE* out) {
  print_view(View().table(table), out);
}

void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened == -1) return;
  }
}

ExitCode after_output(ExitCode code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return code;
  print_message("cannot write to standard output{}{}", errno != 0 ? ": " : "",
                errno != 0 ? std::strerror(errno) : "");
  return ExitCode::kError;
}

}  // namespace headroom::cli
