// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/print_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/shared/say.h"

namespace headroom::cli {

std::size_t terminal_width(std::FILE* out) {
  winsize size{};
  const int file = ::fileno(out);
  return ::isatty(file) == 1 && ::ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

TableForm form_for(std::FILE* out, bool markdown) {
  return {markdown, terminal_width(out)};
}

void print_table(const Table& table, std::FILE* out, bool markdown) {
  print_text((table.as(form_for(out, markdown)) + (markdown ? "\n" : "")), out);
}

}  // namespace headroom::cli
