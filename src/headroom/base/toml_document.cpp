// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/toml_document.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/toml_text.h"

namespace headroom {

void refuse_at(const toml::source_region& region, const std::string& source, const std::string& what) {
  throw Error(
      fmt::format("{}: line {}, column {}: {}", source, region.begin.line, region.begin.column, what));
}

toml::table parse_toml(std::string_view text, const std::string& source) {
  refuse_impossible_toml(text, source);
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    refuse_at(error.source(), source, std::string(error.description()));
  }
}

}  // namespace headroom
