// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <ostream>

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

constexpr std::size_t kDeepest = 500;

/// SAX handler. The last of equal keys wins, at the first's position.
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
  /// Removes prefix and position, and limits the size.
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
          fmt::format("{}: JSON is nested more than {} deep, the limit of headroom", *source_, kDeepest));
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string* source_;  ///< nullptr: do not throw
  std::vector<Json*> open_;    ///< pointers stay valid: only the last container grows
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

/// Formats numbers as Python's json.
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

  int indent_;  ///< negative: one line
  bool ascii_;
  int depth_ = 0;
};

std::string dump(const Json& value, int indent, bool ascii) {
  std::string text;
  Writer(text, indent, ascii).write(value);
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
      throw Error(in_quotes(pointer) + " is not a JSON pointer: ~ must be followed by 0 or 1");
    }
    key += part[i] == '0' ? '~' : '/';
  }
  return key;
}

std::vector<std::string> parts_of(std::string_view pointer) {
  std::vector<std::string> parts;
  if (pointer.empty()) return parts;
  if (!pointer.starts_with('/'))
    throw Error(in_quotes(pointer) + " is not a JSON pointer: it must begin with /");
  for (const std::string& part : split(std::string(pointer.substr(1)), '/')) {
    parts.push_back(unescaped(part, pointer));
  }
  return parts;
}

const char* after_digits(const char* at) {
  while (is_digit(*at)) ++at;
  return at;
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
  switch (type_) {
    case Type::kNull:
      return "null";
    case Type::kBoolean:
      return "a boolean";
    case Type::kString:
      return "a string";
    case Type::kArray:
      return "an array";
    case Type::kObject:
      return "an object";
    default:
      return "a number";
  }
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

const char* json_number_end(const char* at) {
  if (*at == '-') ++at;
  if (!is_digit(*at)) return nullptr;
  at = *at == '0' ? at + 1 : after_digits(at);
  if (*at == '.') {
    if (!is_digit(at[1])) return nullptr;
    at = after_digits(at + 1);
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    if (*at == '+' || *at == '-') ++at;
    if (!is_digit(*at)) return nullptr;
    at = after_digits(at);
  }
  return at;
}

double json_number_value(std::string_view token) {
  double value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  return result.ec == std::errc{} ? value : std::strtod(std::string(token).c_str(), nullptr);
}

std::optional<std::uint64_t> json_whole_number(std::string_view token) {
  std::uint64_t value = 0;
  const char* const end = token.data() + token.size();
  const auto result = std::from_chars(token.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

bool JsonCursor::take(char expected) {
  skip_space();
  if (*at_ != expected) return false;
  ++at_;
  return true;
}

bool JsonCursor::take_literal(std::string_view literal) {
  skip_space();
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(literal)) return false;
  at_ += literal.size();
  return true;
}

bool JsonCursor::take_bool(bool& value) {
  value = take_literal("true");
  return value || take_literal("false");
}

bool JsonCursor::take_string(std::string_view& value) {
  if (!take('"')) return false;
  const char* const begin = at_;
  // Stops at the terminating zero byte.
  while (*at_ >= 0x20 && *at_ < 0x7f && *at_ != '"' && *at_ != '\\') ++at_;
  if (*at_ != '"') return false;
  value = {begin, static_cast<std::size_t>(at_ - begin)};
  ++at_;
  return true;
}

std::string_view JsonCursor::take_number_text() {
  skip_space();
  const char* const begin = at_;
  const char* const stop = json_number_end(begin);
  if (stop == nullptr) return {};
  at_ = stop;
  return {begin, static_cast<std::size_t>(stop - begin)};
}

bool JsonCursor::take_number(double& value) {
  const std::string_view token = take_number_text();
  if (token.empty()) return false;
  if (token.find_first_of(".eE") == std::string_view::npos) {
    const auto whole = json_whole_number(token);
    if (whole) value = static_cast<double>(*whole);
    return whole.has_value();
  }
  value = json_number_value(token);
  return std::isfinite(value);
}

bool JsonCursor::take_whole(std::uint64_t& value) {
  const auto whole = json_whole_number(take_number_text());
  if (whole) value = *whole;
  return whole.has_value();
}

bool JsonCursor::take_whole(std::int64_t& value) {
  const std::string_view token = take_number_text();
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, value);
  return !token.empty() && error == std::errc() && stop == end;
}

bool JsonCursor::skip_scalar() {
  skip_space();
  std::string_view text;
  double number = 0;
  bool truth = false;
  if (*at_ == '"') return take_string(text);
  if (*at_ == 'n') return take_null();
  if (*at_ == 't' || *at_ == 'f') return take_bool(truth);
  return take_number(number);
}

}  // namespace headroom
