// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/markup_text.h"

namespace headroom {

std::string markup_text(std::string_view text, std::string_view control, std::string_view kept) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20 && kept.find(c) == std::string_view::npos) {
      result += control;
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace headroom
