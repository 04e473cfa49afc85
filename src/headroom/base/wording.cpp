// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/wording.h"

#include <fmt/format.h>

#include <cstdint>

#include "headroom/base/fnv.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

const char* is_or_are(std::size_t count) {
  return count == 1 ? "is" : "are";
}

std::string abridged(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  const std::size_t kept = longest / 2;
  std::size_t end = 0;
  while (end < kept) {
    const std::size_t length = utf8_length(text.substr(end));
    end += length == 0 ? 1 : length;
  }
  Fnv1a hash;
  hash.add(text);
  return fmt::format("{}... ({}, #{:08x})", text.substr(0, end),
                     format_bytes(static_cast<double>(text.size())),
                     static_cast<std::uint32_t>(hash.value()));
}

}  // namespace headroom
