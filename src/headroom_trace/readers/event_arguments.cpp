// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_arguments.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "headroom_trace/json/json_scan.h"
#include "headroom_trace/json/strict_json.h"

namespace headroom::trace::readers {

void EventArguments::clear() {
  all_.clear();
  texts_.clear();
}

bool EventArguments::add_members(std::string_view json) {
  std::string object = "{";
  object += json;
  object += '}';
  const std::string clean = clean_json(object);
  if (clean.empty()) return false;
  Structurals tokens;
  scan_value(clean, 0, tokens);
  std::string value;
  walk_object({clean.data(), tokens.data()}, [&](Raw key, Walk at) -> AfterMember {
    const std::string name = clean_text(key).text;
    value.clear();
    at = append_clean_value(at, value);
    if (value.starts_with('"')) {
      add(name, clean_text(without_quotes(value)).text);
    } else {
      add_json(name, value);
    }
    return {at};
  });
  return true;
}

void EventArguments::append_json(const One& one, std::string& out) const {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        auto to = std::back_inserter(out);
        if constexpr (std::same_as<Value, Text>) {
          append_json_string(text(one), out);
        } else if constexpr (std::same_as<Value, Json>) {
          out += text(one);
        } else if constexpr (std::same_as<Value, Extent>) {
          fmt::format_to(to, "[{},{},{}]", value[0], value[1], value[2]);
        } else if constexpr (std::same_as<Value, double>) {
          std::isfinite(value) ? fmt::format_to(to, "{}", value) : fmt::format_to(to, "null");
        } else {
          fmt::format_to(to, "{}", value);
        }
      },
      one.value);
}

}  // namespace headroom::trace::readers
