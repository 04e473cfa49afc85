// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/tool_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// What a literal such as NaN is replaced by, filled up with blanks: not shorter than any of them, so that
/// byte offsets stay. DEL may stand in a JSON string, and no tool writes it.
constexpr std::string_view kNotFinite = "\"\x7f\"";

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Walks over the characters of a JSON text that are not inside its strings.
class Structure {
 public:
  explicit Structure(std::string_view text) : text_(text) {}

  /// Moves to the next character; false at the end.
  bool next() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (inside_) {
        if (c == '\\') ++at_;
        if (c == '"') inside_ = false;
        continue;
      }
      if (c == '"') inside_ = true;
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']') --depth_;
      return true;
    }
    return false;
  }
  std::size_t at() const { return at_; }
  char character() const { return text_[at_]; }
  int depth() const { return depth_; }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  std::string_view text_;
  std::size_t at_ = std::string_view::npos;
  bool inside_ = false;
  int depth_ = 0;
};

/// `text` with the literals replaced; empty where there are none.
std::string without_literals(std::string_view text, const std::string& source) {
  constexpr int kDeepest = 500;
  std::string replaced;
  for (Structure scan(text); scan.next();) {
    if (scan.depth() > kDeepest) {
      throw Error(fmt::format("{}: nested more than {} deep at byte {}; no tool that headroom reads does so",
                              source, kDeepest, scan.at()));
    }
    const char c = scan.character();
    if (c != 'N' && c != 'I') continue;
    const std::string_view literal = c == 'N' ? "NaN" : "Infinity";
    if (!scan.rest().starts_with(literal)) continue;
    if (replaced.empty()) replaced = text;
    std::string filled(kNotFinite);
    filled.resize(literal.size(), ' ');
    replaced.replace(scan.at(), literal.size(), filled);
    if (scan.at() > 0 && replaced[scan.at() - 1] == '-') replaced[scan.at() - 1] = ' ';
  }
  return replaced;
}

/// Where the first value of a text that starts with a bracket ends.
std::size_t end_of_first_value(std::string_view text) {
  for (Structure scan(text); scan.next();) {
    if (scan.depth() == 0 && !is_blank(scan.character())) return scan.at() + 1;
  }
  return text.size();
}

std::vector<JsonRow> parse_lines(std::string_view text, const std::string& source) {
  std::vector<JsonRow> rows;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string where = fmt::format("{}: line {}", source, number);
    rows.push_back({parse_tool_json(line, where), where + ": "});
  }
  return rows;
}

}  // namespace

bool holds_keys(std::string_view text, std::initializer_list<std::string_view> keys) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  const std::string_view head = text.substr(0, kHead);
  const auto holds = [head](std::string_view key) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    for (std::size_t at = head.find(quoted); at != std::string_view::npos; at = head.find(quoted, at + 1)) {
      const std::size_t after = head.find_first_not_of(" \t\r\n", at + quoted.size());
      if (after != std::string_view::npos && head[after] == ':') return true;
    }
    return false;
  };
  return std::all_of(keys.begin(), keys.end(), holds);
}

Json parse_tool_json(std::string_view text, const std::string& source) {
  const std::string replaced = without_literals(text, source);
  return parse_json(replaced.empty() ? text : std::string_view(replaced), source);
}

void require_json(std::string_view text, const std::string& source) {
  if (!is_json(text)) parse_json(text, source);
}

std::vector<JsonRow> parse_json_rows(std::string_view text, const std::string& source) {
  std::vector<JsonRow> rows;
  const std::string_view content = trimmed(text);
  if (content.starts_with('{') && end_of_first_value(content) < content.size()) {
    rows = parse_lines(text, source);
  } else {
    Json document = parse_tool_json(text, source);
    if (document.is_array()) {
      for (Json& object : document) {
        rows.push_back({std::move(object), fmt::format("{}: /{}", source, rows.size())});
      }
    } else {
      rows.push_back({std::move(document), source + ": "});
    }
  }
  if (rows.empty()) throw Error(source + ": the list is empty; there is nothing to read");
  return rows;
}

bool is_tool_number(const Json& value) {
  return value.is_number() || (value.is_string() && value.string() == "\x7f");
}

double tool_number(const Json& value, const std::string& where) {
  if (value.is_number()) return value.get<double>();
  if (is_tool_number(value)) return std::numeric_limits<double>::quiet_NaN();
  throw Error(fmt::format("{}: expected a number, found {}", where, value.type_text()));
}

double finite_number(const Json& object, const char* key, const std::string& where) {
  const std::string path = where + "/" + key;
  const double value = tool_number(json_member(object, key, where), path);
  if (!std::isfinite(value)) throw Error(path + ": expected a finite number, found NaN or an infinity");
  return value;
}

double require_time(double value, const std::string& where) {
  if (!std::isfinite(value)) throw Error(where + ": expected a time, found NaN or an infinity");
  if (value <= 0) {
    throw Error(fmt::format("{}: expected a time above zero, found {}; measure again", where, value));
  }
  return value;
}

std::vector<double> read_times(const Json& array, const std::string& where) {
  if (!array.is_array())
    throw Error(fmt::format("{}: expected an array, found {}", where, array.type_text()));
  std::vector<double> times;
  times.reserve(array.size());
  // The path of each element is needed only where it is refused.
  for (const Json& value : array) {
    if (value.is_number() && value.get<double>() > 0) {
      times.push_back(value.get<double>());
    } else {
      const std::string path = fmt::format("{}/{}", where, times.size());
      times.push_back(require_time(tool_number(value, path), path));
    }
  }
  return times;
}

std::string plain_text(const Json& value) {
  if (!value.is_string()) return dump_json(value);
  return is_tool_number(value) ? "NaN" : value.get<std::string>();
}

std::map<std::string, std::string> plain_texts(const Json& object) {
  std::map<std::string, std::string> texts;
  if (!object.is_object()) return texts;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || ((value.is_structured() || value.is_string()) && value.empty())) continue;
    texts[key] = plain_text(value);
  }
  return texts;
}

}  // namespace headroom
