// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json_value.h"

#include <algorithm>
#include <ostream>

#include "headroom/base/json.h"

namespace headroom {
namespace {

bool is_member(const JsonItem& item) {
  return item.value.is_array() && item.value.size() == 2 && item.value.front().is_string();
}

auto found(auto& members, std::string_view key) {
  return std::ranges::find(members, key,
                           [](const Json::Member& member) -> const std::string& { return member.first; });
}

/// The largest and the least double below and above which every one fits 64 bits.
constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

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

}  // namespace headroom
