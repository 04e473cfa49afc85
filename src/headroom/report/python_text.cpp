// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/report/unprintable_ranges.h"

namespace headroom {
namespace {

constexpr std::size_t kDeepest = 900;

/// A value as Python holds it: a scalar is its repr(), and a string also its str().
struct Node {
  enum class Kind { kScalar, kString, kList, kDict } kind = Kind::kScalar;
  std::string text;
  std::vector<Node> children;
  std::string key = {};  ///< in a dict
};

/// Builds the value from what the parser says. Unlike a JSON library's own values it keeps whole numbers of
/// any length, and as in Python the last of equal keys counts, in the place of the first.
class NodeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit NodeBuilder(std::string source) : source_(std::move(source)) {}

  Node root;

  bool null() override { return add({Node::Kind::kScalar, "None", {}}); }
  bool boolean(bool value) override { return add({Node::Kind::kScalar, value ? "True" : "False", {}}); }
  bool number_integer(number_integer_t value) override {
    return add({Node::Kind::kScalar, std::to_string(value), {}});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add({Node::Kind::kScalar, std::to_string(value), {}});
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    const bool whole = digits.find_first_of(".eE") == std::string::npos;
    return add({Node::Kind::kScalar, whole ? digits : python_float(value), {}});
  }
  bool string(string_t& value) override { return add({Node::Kind::kString, value, {}}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::kDict); }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Node::Kind::kList); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw Error(fmt::format("{}: not JSON at byte {} of the value", source_, position));
  }

 private:
  bool add(Node node) {
    place(std::move(node));
    return true;
  }
  Node& place(Node node) {
    if (open_.empty()) return root = std::move(node);
    Node& parent = *open_.back();
    if (parent.kind == Node::Kind::kDict) {
      node.key = key_;
      const auto same = std::ranges::find(parent.children, key_, &Node::key);
      if (same != parent.children.end()) return *same = std::move(node);
    }
    return parent.children.emplace_back(std::move(node));
  }
  bool open(Node::Kind kind) {
    if (open_.size() >= kDeepest) throw Error(fmt::format("{}: nested more than {} deep", source_, kDeepest));
    // Only the innermost list grows, so the pointers to the outer ones stay good.
    open_.push_back(&place({kind, "", {}}));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string source_, key_;
  std::vector<Node*> open_;
};

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

std::string python_str(std::string_view json_text, const std::string& source) {
  NodeBuilder builder(source);
  nlohmann::json::sax_parse(json_text, &builder);
  if (builder.root.kind == Node::Kind::kString) return builder.root.text;
  std::string out;
  append_repr(builder.root, out);
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

std::string python_padded(std::string_view text, std::size_t width, bool on_left) {
  const auto characters = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
  const std::string padding(width > characters ? width - characters : 0, ' ');
  return on_left ? padding + std::string(text) : std::string(text) + padding;
}

}  // namespace headroom
