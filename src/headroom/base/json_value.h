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
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headroom/base/error.h"

namespace headroom {

struct JsonItem;

/// Thrown where a value is taken for what it is not, or a member is asked for that is not there.
class JsonError : public Error {
 public:
  using Error::Error;
};

/// JSON as a value; keys of an object keep the order in which they were written. Parsed and written by the
/// functions of base/json.h, which alone know the library that does it: this header is light, as nearly a
/// third of all sources includes it.
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
      // A whole number that is not negative is one kind, whatever it came from.
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
  /// An object where each item is an array of two whose first is a string, else an array.
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
  /// "null", "a boolean", "a number", "a string", "an array", "an object".
  const char* type_text() const;

  /// The value as a T: bool, a number, std::string, std::vector or std::map<std::string, ...> of such. Throws
  /// JsonError where it is something else, or a whole number does not fit. Reals lose what stands behind the
  /// point.
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

  /// Elements of an array, members of an object, 1 for other values, 0 for null.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  /// Of an array; null has none. Throw JsonError for anything else.
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

  /// Of an object; null has none. Throw JsonError for anything else.
  const Object& items() const;
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return is_object() && find(key) != nullptr; }
  const Json& at(std::string_view key) const;
  Json& at(std::string_view key);
  /// The member as what `fallback` is, which it is where there is none.
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
  /// Makes the member where there is none.
  Json& operator[](std::string_view key);
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  void erase(std::string_view key);
  /// Takes over the members of `other`.
  void update(const Json& other);

  friend bool operator==(const Json& left, const Json& right);
  /// For messages of tests.
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

/// What a braced list holds: an element, or a member of an object as a list of key and value.
struct JsonItem {
  template <typename T>  // no item makes a Json: NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
  requires std::constructible_from<Json, T> JsonItem(T&& from) : value(std::forward<T>(from)) {}
  JsonItem(std::initializer_list<JsonItem> items) : value(items) {}
  JsonItem(const JsonItem&) = default;

  mutable Json value;  ///< moved out of the list, which is made for nothing else
};

}  // namespace headroom
