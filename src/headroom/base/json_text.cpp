// SPDX-License-Identifier: Apache-2.0
// Parsing and writing of base/json.h: with report/python_text.cpp all that includes nlohmann-json, which
// takes a second to compile wherever it is included.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::size_t kDeepest = 500;

/// Builds the value from what the parser says. Of equal keys the last counts, in the place of the first.
class ValueBuilder {
 public:
  explicit ValueBuilder(const std::string* source) : source_(source) {}

  Json root;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    if (source_ == nullptr) return false;
    throw Error(fmt::format("{}: not JSON at byte {}: {}", *source_, position, reason_of(error)));
  }

 private:
  /// What nlohmann says without its own prefix and position: "[json.exception.parse_error.101] parse error at
  /// line 1, column 2: syntax error ..." becomes "syntax error ...", at most `kMaxReason` bytes of it.
  static std::string reason_of(const nlohmann::json::exception& error) {
    constexpr std::size_t kMaxReason = 300;
    std::string text = error.what();
    if (const std::size_t end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
    if (text.starts_with("parse error")) {
      if (const std::size_t colon = text.find(": "); colon != std::string::npos) text.erase(0, colon + 2);
    }
    if (text.size() > kMaxReason) text = text.substr(0, kMaxReason) + "...";
    return text;
  }

  Json* place(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.at(parent.size() - 1);
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kDeepest) {
      if (source_ == nullptr) return false;
      throw Error(
          fmt::format("{}: not JSON that headroom reads: nested more than {} deep", *source_, kDeepest));
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string* source_;  ///< nullptr: say no reason
  std::vector<Json*> open_;    ///< stay where they are: a container is only added to while it is the last
  std::string key_;
};

void write_string(std::string& text, const std::string& value, bool ascii) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(value, plain)) {
    text += '"';
    text += value;
    text += '"';
  } else {
    text += nlohmann::json(value).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
  }
}

/// Writes without recursion into library code, so that what is written of a number is what Python writes.
class Writer {
 public:
  Writer(std::string& out, int indent, bool ascii) : text(out), indent_(indent), ascii_(ascii) {}

  std::string& text;

  void write(const Json& value) {
    switch (value.type()) {
      case Json::Type::kNull:
        text += "null";
        return;
      case Json::Type::kBoolean:
        text += value.get<bool>() ? "true" : "false";
        return;
      case Json::Type::kInteger:
        fmt::format_to(std::back_inserter(text), "{}", value.get<std::int64_t>());
        return;
      case Json::Type::kUnsigned:
        fmt::format_to(std::back_inserter(text), "{}", value.get<std::uint64_t>());
        return;
      case Json::Type::kReal:
        write_real(value.get<double>());
        return;
      case Json::Type::kString:
        write_string(text, value.string(), ascii_);
        return;
      case Json::Type::kArray:
        write_list('[', ']', value.elements(), [&](const Json& element) { write(element); });
        return;
      case Json::Type::kObject:
        write_list('{', '}', value.items(), [&](const Json::Member& member) {
          write_string(text, member.first, ascii_);
          text += indent_ < 0 ? ":" : ": ";
          write(member.second);
        });
    }
  }

 private:
  void write_list(char open, char close, const auto& list, auto&& write_one) {
    text += open;
    ++depth_;
    for (const auto& one : list) {
      if (&one != &list.front()) text += ',';
      break_line();
      write_one(one);
    }
    --depth_;
    if (!list.empty()) break_line();
    text += close;
  }
  void break_line() {
    if (indent_ < 0) return;
    text += '\n';
    text.append(static_cast<std::size_t>(depth_) * static_cast<std::size_t>(indent_), ' ');
  }
  void write_real(double value) {
    if (!std::isfinite(value)) {
      text += "null";
      return;
    }
    const std::size_t begin = text.size();
    fmt::format_to(std::back_inserter(text), "{}", value);
    if (text.find_first_of(".e", begin) == std::string::npos) text += ".0";
  }

  int indent_;  ///< below 0: everything on one line
  bool ascii_;
  int depth_ = 0;
};

std::string dump(const Json& value, int indent, bool ascii) {
  std::string text;
  Writer(text, indent, ascii).write(value);
  return text;
}

/// One part of a pointer without its escapes.
std::string unescaped(std::string_view part, std::string_view pointer) {
  std::string key;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '~') {
      key += part[i];
      continue;
    }
    ++i;
    if (i == part.size() || (part[i] != '0' && part[i] != '1')) {
      throw Error(in_quotes(pointer) + " is no JSON pointer: behind ~ stands 0 or 1");
    }
    key += part[i] == '0' ? '~' : '/';
  }
  return key;
}

std::vector<std::string> parts_of(std::string_view pointer) {
  std::vector<std::string> parts;
  if (pointer.empty()) return parts;
  if (!pointer.starts_with('/')) throw Error(in_quotes(pointer) + " is no JSON pointer: it begins with /");
  for (const std::string& part : split(std::string(pointer.substr(1)), '/')) {
    parts.push_back(unescaped(part, pointer));
  }
  return parts;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  ValueBuilder builder(&source);
  nlohmann::json::sax_parse(text, &builder);
  return std::move(builder.root);
}

bool is_json(std::string_view text) {
  ValueBuilder builder(nullptr);
  return nlohmann::json::sax_parse(text, &builder);
}

const Json* json_at(const Json& value, std::string_view pointer) {
  const Json* at = &value;
  for (const std::string& part : parts_of(pointer)) {
    if (at->is_object()) {
      at = at->find(part);
    } else if (at->is_array()) {
      const bool number = !part.empty() && part.size() < 10 && std::ranges::all_of(part, is_digit) &&
                          (part == "0" || part[0] != '0');
      const std::size_t index = number ? std::stoul(part) : at->size();
      at = index < at->size() ? &at->at(index) : nullptr;
    } else {
      at = nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string dump_json(const Json& value) {
  return dump(value, -1, false);
}

std::string dump_json_pretty(const Json& value) {
  return dump(value, 2, false);
}

void append_json(std::string& text, const Json& value) {
  Writer(text, -1, false).write(value);
}

void append_json_string(std::string& text, const std::string& value) {
  write_string(text, value, false);
}

std::string dump_json_ascii(const Json& value) {
  return dump(value, -1, true);
}

}  // namespace headroom
