// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/utf8.h"

namespace headroom {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned least = 0x80, unsigned most = 0xBF) {
    return byte(i) >= least && byte(i) <= most;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (lead < 0xE0) return follows(1) ? 2 : 0;
  if (lead < 0xF0) {
    const bool second = follows(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && follows(2) ? 3 : 0;
  }
  const bool second = follows(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
  return second && follows(2) && follows(3) ? 4 : 0;
}

bool append_valid_utf8(std::string_view text, std::string& out) {
  bool valid = true;
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size()) {
      const std::size_t length = utf8_length(text.substr(plain));
      if (length == 0) break;
      plain += length;
    }
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    valid = false;
    out.append("\xEF\xBF\xBD");
    text.remove_prefix(1);
  }
  return valid;
}

}  // namespace headroom
