// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json.h"

#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

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

}  // namespace

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

}  // namespace headroom
