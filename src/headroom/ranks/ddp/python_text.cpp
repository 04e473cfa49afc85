// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/ranks/ddp/unprintable_ranges.h"

namespace headroom {
namespace {

/// A value as Python holds it: a scalar is its repr(), and a string also its str().
struct Node {
  enum class Kind { kScalar, kString, kList, kDict } kind = Kind::kScalar;
  std::string text;
  std::vector<Node> children;
  std::string key = {};  ///< in a dict
};

/// The value that the stream stands at. As in Python the last of equal keys counts, in the place of the
/// first, and whole numbers keep all their digits.
Node node_of(JsonStream& stream);

Node dict_of(JsonStream& stream) {
  Node dict{Node::Kind::kDict, "", {}};
  stream.members([&](const std::string& key) {
    Node value = node_of(stream);
    value.key = key;
    const auto same = std::ranges::find(dict.children, key, &Node::key);
    if (same != dict.children.end()) {
      *same = std::move(value);
    } else {
      dict.children.push_back(std::move(value));
    }
  });
  return dict;
}

std::string scalar_text(const std::string& token) {
  if (token == "null") return "None";
  if (token == "true" || token == "false") return token == "true" ? "True" : "False";
  if (token == "NaN") return "nan";
  if (token.ends_with("Infinity")) return token[0] == '-' ? "-inf" : "inf";
  if (token == "-0") return "0";
  const bool whole = token.find_first_of(".eE") == std::string::npos;
  return whole ? token : python_float(std::strtod(token.c_str(), nullptr));
}

Node node_of(JsonStream& stream) {
  switch (stream.peek()) {
    case '{':
      return dict_of(stream);
    case '[': {
      Node list{Node::Kind::kList, "", {}};
      stream.elements([&] { list.children.push_back(node_of(stream)); });
      return list;
    }
    case '"':
      return {Node::Kind::kString, stream.value().get<std::string>(), {}};
    default:
      return {Node::Kind::kScalar, scalar_text(stream.raw_value()), {}};
  }
}

void append_repr(const Node& node, std::string& out) {
  if (node.kind == Node::Kind::kScalar) {
    out += node.text;
    return;
  }
  if (node.kind == Node::Kind::kString) {
    out += python_quoted(node.text);
    return;
  }
  const bool dict = node.kind == Node::Kind::kDict;
  out += dict ? '{' : '[';
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) out += ", ";
    if (dict) out += python_quoted(node.children[i].key) + ": ";
    append_repr(node.children[i], out);
  }
  out += dict ? '}' : ']';
}

/// Decodes the character at `at` of valid UTF-8 and moves `at` behind it.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t character = length == 1 ? first : first & (0x7fu >> length);
  for (std::size_t i = 1; i < length && at + i < text.size(); ++i)
    character = character << 6 | (byte(at + i) & 0x3fu);
  at += length;
  return character;
}

bool is_printable(char32_t character) {
  const auto ranges = unprintable_ranges();
  const auto after = std::ranges::upper_bound(ranges, character, {}, &CodePointRange::first);
  return after == ranges.begin() || character > std::prev(after)->last;
}

std::string escaped(char32_t character) {
  const auto number = static_cast<unsigned>(character);
  if (character == U'\n') return "\\n";
  if (character == U'\r') return "\\r";
  if (character == U'\t') return "\\t";
  if (number < 0x100) return fmt::format("\\x{:02x}", number);
  return number < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

}  // namespace

std::string python_str(JsonStream& stream) {
  const Node node = node_of(stream);
  if (node.kind == Node::Kind::kString) return node.text;
  std::string out;
  append_repr(node, out);
  return out;
}

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + 1 + (text[e + 1] == '+' ? 1 : 0), end, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  std::string fixed(350, '\0');
  const auto fixed_end =
      std::to_chars(fixed.data(), fixed.data() + fixed.size(), value, std::chars_format::fixed).ptr;
  fixed.resize(static_cast<std::size_t>(fixed_end - fixed.data()));
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::string python_quoted(std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t character = next_character(text, at);
    if (character == static_cast<char32_t>(quote) || character == U'\\') {
      out += '\\';
      out += static_cast<char>(character);
    } else if (is_printable(character)) {
      out += text.substr(start, at - start);
    } else {
      out += escaped(character);
    }
  }
  return out + quote;
}

std::string python_fixed(double value, std::size_t width, int decimals, bool with_plus) {
  std::string text = std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : python_float(value);
  if (with_plus && text[0] != '-') text.insert(0, "+");
  return python_padded(text, width, true);
}

std::string python_padded(std::string_view text, std::size_t width, bool on_left) {
  const auto characters = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
  const std::string padding(width > characters ? width - characters : 0, ' ');
  return on_left ? padding + std::string(text) : std::string(text) + padding;
}

}  // namespace headroom
