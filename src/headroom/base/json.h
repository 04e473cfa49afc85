// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headroom/base/error.h"

namespace headroom {

struct JsonItem;

class JsonError : public Error {
 public:
  using Error::Error;
};

/// Objects keep their order.
class Json {
 public:
  enum class Type { kNull, kBoolean, kInteger, kUnsigned, kReal, kString, kArray, kObject };
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() noexcept = default;
  Json(std::nullptr_t) noexcept {}
  Json(std::same_as<bool> auto value) noexcept : type_(Type::kBoolean) { value_.boolean = value; }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value)
  noexcept : type_(std::is_signed_v<T> ? Type::kInteger : Type::kUnsigned) {
    if constexpr (std::is_signed_v<T>) {
      value_.integer = value;
      if (value >= 0) type_ = Type::kUnsigned;
    } else {
      value_.whole = value;
    }
  }
  Json(std::floating_point auto value) noexcept : type_(Type::kReal) {
    value_.real = static_cast<double>(value);
  }
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  template <typename T>
  Json(const std::vector<T>& values) : Json(array()) {
    value_.array->reserve(values.size());
    for (const T& value : values) value_.array->emplace_back(value);
  }
  template <typename T, std::size_t kSize>
  Json(const std::array<T, kSize>& values) : Json(std::vector<T>(values.begin(), values.end())) {}
  template <typename T>
  Json(const std::map<std::string, T>& members) : Json(object()) {
    for (const auto& [key, value] : members) value_.object->emplace_back(key, Json(value));
  }
  /// An object if each item is a pair that begins with a string, else an array.
  Json(std::initializer_list<JsonItem> items);

  Json(const Json& other);
  Json(Json&& other) noexcept : type_(std::exchange(other.type_, Type::kNull)), value_(other.value_) {}
  Json& operator=(Json other) noexcept {
    std::swap(type_, other.type_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Json() { clear(); }

  static Json array();
  static Json array(std::initializer_list<JsonItem> items);
  static Json object();

  bool is_null() const { return type_ == Type::kNull; }
  bool is_boolean() const { return type_ == Type::kBoolean; }
  bool is_number() const { return is_number_integer() || type_ == Type::kReal; }
  bool is_number_integer() const { return type_ == Type::kInteger || type_ == Type::kUnsigned; }
  bool is_number_unsigned() const { return type_ == Type::kUnsigned; }
  bool is_string() const { return type_ == Type::kString; }
  bool is_array() const { return type_ == Type::kArray; }
  bool is_object() const { return type_ == Type::kObject; }
  bool is_structured() const { return is_array() || is_object(); }
  Type type() const { return type_; }
  /// "an array", "null", ...
  const char* type_text() const;

  /// To bool, number, std::string, or a std::vector or std::map<std::string, ...> of those. Throws JsonError
  /// for another type or a whole number out of range; truncates reals.
  template <typename T>
  T get() const {
    if constexpr (std::same_as<T, bool>) {
      return boolean();
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(std::is_signed_v<T> ? integer(std::numeric_limits<T>::min(), kMax<T>)
                                                : static_cast<std::int64_t>(whole(kMax<T>)));
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(real());
    } else if constexpr (std::same_as<T, std::string>) {
      return string();
    } else if constexpr (requires { typename T::mapped_type; }) {
      T map;
      for (const Member& member : items()) {
        map[member.first] = member.second.template get<typename T::mapped_type>();
      }
      return map;
    } else {
      T values;
      for (const Json& value : elements()) values.push_back(value.get<typename T::value_type>());
      return values;
    }
  }
  template <typename T>
  void get_to(T& target) const {
    target = get<T>();
  }
  const std::string& string() const;

  /// 1 for scalars, 0 for null.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  /// Empty for null. Throws JsonError for non-arrays.
  const Array& elements() const;
  auto begin() const { return elements().begin(); }
  auto end() const { return elements().end(); }
  Array::iterator begin();
  Array::iterator end();
  const Json& front() const { return element(0); }
  const Json& back() const { return element(size() - 1); }
  void push_back(Json value);
  const Json& at(std::integral auto index) const { return element(static_cast<std::size_t>(index)); }
  Json& at(std::integral auto index) { return element(static_cast<std::size_t>(index)); }
  const Json& operator[](std::integral auto index) const { return at(index); }
  Json& operator[](std::integral auto index) { return at(index); }

  /// Empty for null. Throws JsonError for non-objects.
  const Object& items() const;
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return is_object() && find(key) != nullptr; }
  const Json& at(std::string_view key) const;
  Json& at(std::string_view key);
  /// `fallback` if absent.
  template <typename T>
  T value(std::string_view key, T fallback) const {
    const Json* member = find(key);
    return member == nullptr ? fallback : member->get<T>();
  }
  std::string value(std::string_view key, const char* fallback) const {
    return value(key, std::string(fallback));
  }
  const Json& operator[](std::string_view key) const { return at(key); }
  const Json& operator[](const char* key) const { return at(std::string_view(key)); }
  Json& operator[](std::string_view key);
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  void erase(std::string_view key);
  /// Overwrites or adds members.
  void update(const Json& other);

  friend bool operator==(const Json& left, const Json& right);
  /// For test messages.
  friend std::ostream& operator<<(std::ostream& out, const Json& value);

 private:
  template <typename T>
  static constexpr std::uint64_t kMax = static_cast<std::uint64_t>(std::numeric_limits<T>::max());

  union Value {
    bool boolean;
    std::int64_t integer;
    std::uint64_t whole = 0;
    double real;
    std::string* string;
    Array* array;
    Object* object;
  };

  const Json& element(std::size_t index) const;
  Json& element(std::size_t index) { return const_cast<Json&>(std::as_const(*this).element(index)); }
  bool boolean() const;
  std::int64_t integer(std::int64_t least, std::uint64_t most) const;
  std::uint64_t whole(std::uint64_t most) const;
  double real() const;
  [[noreturn]] void wrong_type(const char* expected) const;
  void clear() noexcept;

  Type type_ = Type::kNull;
  Value value_;
};

/// Item of a braced list: an element, or a member {key, value}.
struct JsonItem {
  template <typename T>  // no item makes a Json: NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
  requires std::constructible_from<Json, T> JsonItem(T&& from) : value(std::forward<T>(from)) {}
  JsonItem(std::initializer_list<JsonItem> items) : value(items) {}
  JsonItem(const JsonItem&) = default;

  mutable Json value;  ///< moved out of the list
};

/// Strict (JsonReader::value).
Json parse_json(std::string_view text, const std::string& source);

bool is_json(std::string_view text);

/// RFC 6901; nullptr if absent. Throws Error for an invalid pointer.
const Json* json_at(const Json& value, std::string_view pointer);

/// Throw Error for an absent or mistyped member: "results.json: /records/3/metric/name: expected a string,
/// found a number". `where`: path of `object`.
double json_number(const Json& object, const char* key, const std::string& where);
std::string json_string(const Json& object, const char* key, const std::string& where);
bool json_bool(const Json& object, const char* key, const std::string& where);
const Json& json_member(const Json& object, const char* key, const std::string& where);
const Json& json_array(const Json& object, const char* key, const std::string& where);

/// Nullptr if absent or null.
const Json* json_optional(const Json& object, const char* key, const std::string& where);

/// `fallback` if absent or null.
double json_number_or(const Json& object, const char* key, double fallback, const std::string& where);
std::string json_string_or(const Json& object, const char* key, const std::string& fallback,
                           const std::string& where);

/// Writes NaN and infinity as null, invalid UTF-8 as U+FFFD.
std::string dump_json(const Json& value);
std::string dump_json_pretty(const Json& value);
void append_json(std::string& text, const Json& value);
/// Uses \u escapes.
std::string dump_json_ascii(const Json& value);

enum class JsonText {
  kUtf8,   ///< invalid bytes become U+FFFD
  kAscii,  ///< the same with \u escapes
  kAsIs    ///< keeps invalid bytes
};
/// In quotes.
void append_json_string(std::string& out, std::string_view text, JsonText form = JsonText::kUtf8);

struct CleanText {
  std::string text;
  bool is_clean = true;  ///< false: bad escape kept, or invalid UTF-8 replaced by U+FFFD
};
/// Decodes the text between quotes.
CleanText clean_text(std::string_view inside);

}  // namespace headroom
