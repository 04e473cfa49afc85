// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/say.h"

#include "headroom/base/text.h"

namespace headroom::cli {

void print_text(std::string_view text, std::FILE* out) {
  const std::string shown = visible(text);
  std::fwrite(shown.data(), 1, shown.size(), out);
}

void say_sentence(std::string_view sentence) {
  print_text(fmt::format("headroom: {}\n", sentence), stderr);
}

}  // namespace headroom::cli
