// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <ostream>

#include "headroom/base/json_reader.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

bool is_member(const JsonItem& item) {
  return item.value.is_array() && item.value.size() == 2 && item.value.front().is_string();
}

auto found(auto& members, std::string_view key) {
  return std::ranges::find(members, key,
                           [](const Json::Member& member) -> const std::string& { return member.first; });
}

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

const Json* find_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) {
    throw Error(fmt::format("{}: expected an object, found {}", where, object.type_text()));
  }
  return object.find(key);
}

[[noreturn]] void wrong_type(const Json& found, const char* key, const char* expected,
                             const std::string& where) {
  throw Error(fmt::format("{}/{}: expected {}, found {}", where, key, expected, found.type_text()));
}

const Json& required(const Json& object, const char* key, const char* expected, const std::string& where) {
  const Json* member = find_member(object, key, where);
  if (member == nullptr) throw Error(fmt::format("{}/{}: missing; expected {}", where, key, expected));
  return *member;
}

/// What may follow a backslash, and the characters that it means.
constexpr std::string_view kLetters = "\"\\bfnrt/", kMeanings = "\"\\\b\f\n\r\t/";

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x7F; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&](std::uint32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xE0 | code >> 12);
    } else {
      byte(0xF0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3F));
    }
    byte(0x80 | (code >> 6 & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

std::optional<std::uint32_t> unicode_unit(std::string_view text) {
  std::uint32_t unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  return std::from_chars(text.data() + 2, text.data() + 6, unit, 16).ptr == text.data() + 6
             ? std::optional(unit)
             : std::nullopt;
}

/// Bytes consumed; 0 for a bad escape.
std::size_t unescape(std::string_view text, std::string& out) {
  if (text.size() < 2) return 0;
  if (const auto at = kLetters.find(text[1]); at != kLetters.npos) {
    out.push_back(kMeanings[at]);
    return 2;
  }
  const auto unit = unicode_unit(text);
  if (!unit) return 0;
  if (*unit < 0xD800 || *unit > 0xDFFF) {
    append_utf8(out, *unit);
    return 6;
  }
  const auto low = unicode_unit(text.substr(6));
  if (*unit > 0xDBFF || !low || *low < 0xDC00 || *low > 0xDFFF) return 0;
  append_utf8(out, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00));
  return 12;
}

/// Formats numbers as Python's json.
class Writer {
 public:
  Writer(std::string& out, int indent, JsonText form) : text(out), indent_(indent), form_(form) {}

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
        append_json_string(text, value.string(), form_);
        return;
      case Json::Type::kArray:
        write_list('[', ']', value.elements(), [&](const Json& element) { write(element); });
        return;
      case Json::Type::kObject:
        write_list('{', '}', value.items(), [&](const Json::Member& member) {
          append_json_string(text, member.first, form_);
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

  int indent_;  ///< negative: one line
  JsonText form_;
  int depth_ = 0;
};

std::string dump(const Json& value, int indent, JsonText form = JsonText::kUtf8) {
  std::string text;
  Writer(text, indent, form).write(value);
  return text;
}

std::string unescaped(std::string_view part, std::string_view pointer) {
  std::string key;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '~') {
      key += part[i];
      continue;
    }
    ++i;
    if (i == part.size() || (part[i] != '0' && part[i] != '1')) {
      throw Error(quote(pointer) + " is not a JSON pointer: ~ must be followed by 0 or 1");
    }
    key += part[i] == '0' ? '~' : '/';
  }
  return key;
}

std::vector<std::string> parts_of(std::string_view pointer) {
  std::vector<std::string> parts;
  if (pointer.empty()) return parts;
  if (!pointer.starts_with('/')) throw Error(quote(pointer) + " is not a JSON pointer: it must begin with /");
  for (const std::string& part : split(std::string(pointer.substr(1)), '/')) {
    parts.push_back(unescaped(part, pointer));
  }
  return parts;
}

}  // namespace

Json::Json(std::string text) : type_(Type::kString) {
  value_.string = new std::string(std::move(text));
}
Json::Json(std::string_view text) : Json(std::string(text)) {}
Json::Json(const char* text) : Json(std::string(text)) {}

Json Json::array() {
  Json json;
  json.value_.array = new Array;
  json.type_ = Type::kArray;
  return json;
}

Json Json::array(std::initializer_list<JsonItem> items) {
  Json json = array();
  json.value_.array->reserve(items.size());
  for (const JsonItem& item : items) json.value_.array->push_back(std::move(item.value));
  return json;
}

Json Json::object() {
  Json json;
  json.value_.object = new Object;
  json.type_ = Type::kObject;
  return json;
}

Json::Json(std::initializer_list<JsonItem> items) {
  if (!std::ranges::all_of(items, is_member)) {
    *this = array(items);
    return;
  }
  *this = object();
  for (const JsonItem& item : items) {
    Array& pair = *item.value.value_.array;
    (*this)[pair[0].string()] = std::move(pair[1]);
  }
}

Json::Json(const Json& other) : value_(other.value_) {
  if (other.type_ == Type::kString) value_.string = new std::string(*other.value_.string);
  if (other.type_ == Type::kArray) value_.array = new Array(*other.value_.array);
  if (other.type_ == Type::kObject) value_.object = new Object(*other.value_.object);
  type_ = other.type_;
}

void Json::clear() noexcept {
  if (type_ == Type::kString) delete value_.string;
  if (type_ == Type::kArray) delete value_.array;
  if (type_ == Type::kObject) delete value_.object;
  type_ = Type::kNull;
}

const char* Json::type_text() const {
  static constexpr const char* kNames[] = {"null",     "a boolean", "a number", "a number",
                                           "a number", "a string",  "an array", "an object"};
  return kNames[static_cast<std::size_t>(type_)];
}

void Json::wrong_type(const char* expected) const {
  throw JsonError(std::string("expected ") + expected + ", found " + type_text());
}

bool Json::boolean() const {
  if (!is_boolean()) wrong_type("a boolean");
  return value_.boolean;
}

const std::string& Json::string() const {
  if (!is_string()) wrong_type("a string");
  return *value_.string;
}

double Json::real() const {
  if (type_ == Type::kInteger) return static_cast<double>(value_.integer);
  if (type_ == Type::kUnsigned) return static_cast<double>(value_.whole);
  if (type_ != Type::kReal) wrong_type("a number");
  return value_.real;
}

std::int64_t Json::integer(std::int64_t least, std::uint64_t most) const {
  std::int64_t value = value_.integer;
  if (type_ != Type::kInteger) {
    if (type_ != Type::kReal || value_.real >= 0) return static_cast<std::int64_t>(whole(most));
    if (!(value_.real >= -kTwoTo63)) wrong_type("a whole number that fits");
    value = static_cast<std::int64_t>(value_.real);
  }
  if (value < least) wrong_type("a whole number that fits");
  return value;
}

std::uint64_t Json::whole(std::uint64_t most) const {
  if (!is_number()) wrong_type("a number");
  std::uint64_t value = value_.whole;
  if (type_ == Type::kReal) {
    if (!(value_.real > -1 && value_.real < kTwoTo64)) wrong_type("a whole number that fits");
    value = static_cast<std::uint64_t>(value_.real);
  }
  if (type_ == Type::kInteger || value > most) wrong_type("a whole number that fits");
  return value;
}

std::size_t Json::size() const {
  if (is_array()) return value_.array->size();
  if (is_object()) return value_.object->size();
  return is_null() ? 0 : 1;
}

const Json::Array& Json::elements() const {
  static const Array kNone;
  if (is_null()) return kNone;
  if (!is_array()) wrong_type("an array");
  return *value_.array;
}

Json::Array::iterator Json::begin() {
  if (!is_array()) wrong_type("an array");
  return value_.array->begin();
}

Json::Array::iterator Json::end() {
  if (!is_array()) wrong_type("an array");
  return value_.array->end();
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  if (!is_array()) wrong_type("an array");
  value_.array->push_back(std::move(value));
}

const Json& Json::element(std::size_t index) const {
  const Array& array = elements();
  if (index >= array.size()) {
    throw JsonError("element " + std::to_string(index) + " of an array of " + std::to_string(array.size()));
  }
  return array[index];
}

const Json::Object& Json::items() const {
  static const Object kNone;
  if (is_null()) return kNone;
  if (!is_object()) wrong_type("an object");
  return *value_.object;
}

const Json* Json::find(std::string_view key) const {
  const Object& members = items();
  const auto place = found(members, key);
  return place == members.end() ? nullptr : &place->second;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* member = find(key)) return *member;
  throw JsonError("there is no member '" + std::string(key) + "'");
}

Json& Json::at(std::string_view key) {
  return const_cast<Json&>(std::as_const(*this).at(key));
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (const Json* member = find(key)) return const_cast<Json&>(*member);
  return value_.object->emplace_back(std::string(key), Json()).second;
}

void Json::erase(std::string_view key) {
  if (!contains(key)) return;
  value_.object->erase(found(*value_.object, key));
}

void Json::update(const Json& other) {
  for (const Member& member : other.items()) (*this)[member.first] = member.second;
}

bool operator==(const Json& left, const Json& right) {
  using Type = Json::Type;
  if (left.is_number() && right.is_number()) {
    return left.type_ == right.type_ && left.type_ != Type::kReal ? left.value_.whole == right.value_.whole
                                                                  : left.real() == right.real();
  }
  if (left.type_ != right.type_) return false;
  switch (left.type_) {
    case Type::kBoolean:
      return left.value_.boolean == right.value_.boolean;
    case Type::kString:
      return *left.value_.string == *right.value_.string;
    case Type::kArray:
      return *left.value_.array == *right.value_.array;
    case Type::kObject:
      return *left.value_.object == *right.value_.object;
    default:
      return true;
  }
}

std::ostream& operator<<(std::ostream& out, const Json& value) {
  return out << dump_json(value);
}

double json_number(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "a number", where);
  if (!member.is_number()) wrong_type(member, key, "a number", where);
  return member.get<double>();
}

std::string json_string(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "a string", where);
  if (!member.is_string()) wrong_type(member, key, "a string", where);
  return member.string();
}

bool json_bool(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "a boolean", where);
  if (!member.is_boolean()) wrong_type(member, key, "a boolean", where);
  return member.get<bool>();
}

const Json& json_member(const Json& object, const char* key, const std::string& where) {
  return required(object, key, "a value", where);
}

const Json& json_array(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "an array", where);
  if (!member.is_array()) wrong_type(member, key, "an array", where);
  return member;
}

const Json* json_optional(const Json& object, const char* key, const std::string& where) {
  const Json* member = find_member(object, key, where);
  return member == nullptr || member->is_null() ? nullptr : member;
}

double json_number_or(const Json& object, const char* key, double fallback, const std::string& where) {
  return json_optional(object, key, where) == nullptr ? fallback : json_number(object, key, where);
}

std::string json_string_or(const Json& object, const char* key, const std::string& fallback,
                           const std::string& where) {
  return json_optional(object, key, where) == nullptr ? fallback : json_string(object, key, where);
}

Json parse_json(std::string_view text, const std::string& source) {
  const std::string terminated(text);
  JsonReader reader(terminated, source);
  Json value = reader.value();
  reader.finish();
  return value;
}

bool is_json(std::string_view text) {
  try {
    parse_json(text, "");
    return true;
  } catch (const Error&) {
    return false;
  }
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
  return dump(value, -1);
}

std::string dump_json_pretty(const Json& value) {
  return dump(value, 2);
}

void append_json(std::string& text, const Json& value) {
  Writer(text, -1, JsonText::kUtf8).write(value);
}

std::string dump_json_ascii(const Json& value) {
  return dump(value, -1, JsonText::kAscii);
}

void append_json_string(std::string& out, std::string_view text, JsonText form) {
  out += '"';
  std::size_t written = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    std::size_t length = 1;
    if (byte >= 0x80 && form != JsonText::kAsIs) length = utf8_length(text.substr(at));
    if (kPlain[byte] || (byte >= 0x7F && length > 0 && form != JsonText::kAscii)) {
      at += length;
      continue;
    }
    out.append(text.substr(written, at - written));
    const std::uint32_t code = length == 0   ? 0xFFFD
                               : length == 1 ? byte
                                             : code_point(text.substr(at, length));
    if (const std::size_t letter = kMeanings.find(text[at]); letter != kMeanings.npos) {
      out += {'\\', kLetters[letter]};
    } else if (length == 0 && form == JsonText::kUtf8) {
      append_utf8(out, code);
    } else if (code < 0x10000) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xD7C0 + (code >> 10U),
                     0xDC00 + (code & 0x3FFU));
    }
    written = at += std::max<std::size_t>(length, 1);
  }
  out.append(text.substr(written));
  out += '"';
}

CleanText clean_text(std::string_view inside) {
  CleanText clean;
  while (!inside.empty()) {
    const std::size_t plain = std::min(inside.find('\\'), inside.size());
    clean.is_clean &= append_valid_utf8(inside.substr(0, plain), clean.text);
    inside.remove_prefix(plain);
    if (inside.empty()) break;
    const std::size_t taken = unescape(inside, clean.text);
    if (taken == 0) {
      clean.is_clean = false;
      clean.text.push_back('\\');
    }
    inside.remove_prefix(std::max<std::size_t>(taken, 1));
  }
  return clean;
}

}  // namespace headroom
