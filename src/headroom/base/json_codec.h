// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "headroom/base/json_reader.h"

namespace headroom {

/// Location of a value, formatted only for errors. Must not outlive its parent.
class JsonPath {
 public:
  explicit JsonPath(std::string_view root) : key_(root) {}
  JsonPath(const JsonPath& parent, std::string_view key) : parent_(&parent), key_(key) {}
  JsonPath(const JsonPath& parent, std::size_t index) : parent_(&parent), index_(index) {}

  /// "results.json: /records/3/metric"
  std::string text() const;
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void expected(const std::string& what, const Json& found) const;

 private:
  const JsonPath* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

/// Converts T to JSON (`write`) and back (`read`, which throws Error with the path). Defined for JSON's
/// types, lists, maps, structures with JsonMembers and enumerations with JsonNames.
///
/// `take`, optional, is a fast `read`: false if the text is not plain enough for JsonCursor, or if `read`
/// would throw.
template <typename T>
struct JsonCodec;

template <typename T>
Json json_of(const T& value) {
  return JsonCodec<T>::write(value);
}

template <typename T>
T json_to(const Json& json, const JsonPath& path) {
  return JsonCodec<T>::read(json, path);
}

/// `value` must equal `T{}`.
template <typename T>
bool json_take(JsonCursor& cursor, T& value) {
  if constexpr (requires { JsonCodec<T>::take(cursor, value); }) {
    return JsonCodec<T>::take(cursor, value);
  } else {
    return false;
  }
}

template <>
struct JsonCodec<bool> {
  static Json write(bool value) { return value; }
  static bool read(const Json& json, const JsonPath& path);
  static bool take(JsonCursor& cursor, bool& value) { return cursor.take_bool(value); }
};

template <std::floating_point T>
struct JsonCodec<T> {
  static Json write(T value) { return value; }
  static T read(const Json& json, const JsonPath& path) {
    if (!json.is_number()) path.expected("a number", json);
    return json.get<T>();
  }
  static bool take(JsonCursor& cursor, T& value) requires std::same_as<T, double> {
    return cursor.take_number(value);
  }
};

template <>
struct JsonCodec<std::string> {
  static Json write(const std::string& value) { return value; }
  static std::string read(const Json& json, const JsonPath& path);
  static bool take(JsonCursor& cursor, std::string& value);
};

/// A negative `least` means the 64-bit minimum.
bool is_whole_number(const Json& json, std::int64_t least, std::uint64_t most);
[[noreturn]] void refuse_whole_number(const Json& json, const JsonPath& path, std::int64_t least,
                                      std::uint64_t most);

template <std::integral T>
T json_whole(const Json& json, const JsonPath& path, std::int64_t least = 0) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (!is_whole_number(json, least, kMost)) refuse_whole_number(json, path, least, kMost);
  return json.get<T>();
}

template <std::integral T>
bool json_take_whole(JsonCursor& cursor, T& value, std::int64_t least = 0) {
  std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> whole = 0;
  if (!cursor.take_whole(whole) || !std::in_range<T>(whole) || std::cmp_less(whole, least)) return false;
  value = static_cast<T>(whole);
  return true;
}

template <std::integral T>
requires(!std::same_as<T, bool>) struct JsonCodec<T> {
  static Json write(T value) { return value; }
  static T read(const Json& json, const JsonPath& path) { return json_whole<T>(json, path); }
  static bool take(JsonCursor& cursor, T& value) { return json_take_whole(cursor, value); }
};

template <typename T>
struct JsonCodec<std::vector<T>> {
  static Json write(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(json_of(value));
    return json;
  }
  static std::vector<T> read(const Json& json, const JsonPath& path) {
    if (!json.is_array()) path.expected("an array", json);
    std::vector<T> values;
    values.reserve(json.size());
    for (const Json& value : json) values.push_back(json_to<T>(value, JsonPath(path, values.size())));
    return values;
  }
  static bool take(JsonCursor& cursor, std::vector<T>& values) {
    return cursor.take_elements([&] { return json_take(cursor, values.emplace_back()); });
  }
};

template <typename Pairs, typename T>
struct JsonObjectCodec {
  static Json write(const Pairs& pairs) {
    Json json = Json::object();
    for (const auto& [key, value] : pairs) json[key] = json_of(value);
    return json;
  }
  static Pairs read(const Json& json, const JsonPath& path) {
    if (!json.is_object()) path.expected("an object", json);
    Pairs pairs;
    for (const auto& [key, value] : json.items())
      pairs.insert(pairs.end(), {key, json_to<T>(value, JsonPath(path, key))});
    return pairs;
  }
  static bool take(JsonCursor& cursor, Pairs& pairs) {
    return cursor.take_members([&](std::string_view key) {
      // Json resolves duplicate keys.
      for (const auto& pair : pairs)
        if (pair.first == key) return false;
      return json_take(cursor, pairs.insert(pairs.end(), {std::string(key), T{}})->second);
    });
  }
};
template <typename T>
struct JsonCodec<std::map<std::string, T>> : JsonObjectCodec<std::map<std::string, T>, T> {};
/// Keeps the object's order.
template <typename T>
struct JsonCodec<std::vector<std::pair<std::string, T>>>
    : JsonObjectCodec<std::vector<std::pair<std::string, T>>, T> {};

template <typename T>
struct JsonCodec<std::optional<T>> {
  static Json write(const std::optional<T>& value) { return value ? json_of(*value) : Json(); }
  static std::optional<T> read(const Json& json, const JsonPath& path) {
    return json.is_null() ? std::nullopt : std::optional<T>(json_to<T>(json, path));
  }
  static bool take(JsonCursor& cursor, std::optional<T>& value) {
    if (cursor.take_null()) return true;
    // No emplace(): clang 14 rejects nested structures with default member initialisers.
    value = std::optional<T>(T{});
    return json_take(cursor, *value);
  }
};

/// `kChoices`: the values; to_string() names them.
template <typename T>
struct JsonNames;

/// Index of the string in `names`.
std::size_t json_choice(const Json& json, const JsonPath& path, const std::vector<std::string_view>& names);

template <typename T>
requires requires {
  JsonNames<T>::kChoices;
}
struct JsonCodec<T> {
  static Json write(T value) { return to_string(value); }
  static T read(const Json& json, const JsonPath& path) {
    std::vector<std::string_view> names;
    for (const T choice : JsonNames<T>::kChoices) names.emplace_back(to_string(choice));
    return JsonNames<T>::kChoices[json_choice(json, path, names)];
  }
  static bool take(JsonCursor& cursor, T& value) {
    std::string_view name;
    if (!cursor.take_string(name)) return false;
    for (const T choice : JsonNames<T>::kChoices) {
      if (to_string(choice) != name) continue;
      value = choice;
      return true;
    }
    return false;
  }
};

/// `kTable`: a tuple of JsonMember in output order.
template <typename T>
struct JsonMembers;

enum class JsonPresence {
  kRequired,
  kOptional,  ///< always written; if absent or null, keeps the default
  kSparse,    ///< as kOptional, but omitted if zero or empty
  kOrNan      ///< required; null is NaN
};

template <typename T>
bool is_nothing(const T& value) {
  if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return value == T{};
  }
}

/// Pointer to member, or a function that returns a reference.
template <JsonPresence kPresence, typename Get>
struct JsonMember {
  const char* key;
  Get get;
  std::int64_t least = 0;

  constexpr JsonMember at_least(std::int64_t value) const { return {key, get, value}; }
  /// The first letter first, as large files call this often.
  bool is_named(std::string_view name) const { return !name.empty() && name[0] == key[0] && name == key; }

  template <typename T>
  void write(const T& object, Json& json) const {
    const auto& value = std::invoke(get, object);
    if constexpr (kPresence == JsonPresence::kSparse) {
      if (is_nothing(value)) return;
    }
    json[key] = json_of(value);
  }

  template <typename T>
  void read(const Json& json, const JsonPath& path, T& object) const {
    using Value = std::remove_cvref_t<decltype(std::invoke(get, object))>;
    const JsonPath place(path, key);
    const Json* found = json.find(key);
    if constexpr (kPresence == JsonPresence::kOptional || kPresence == JsonPresence::kSparse) {
      if (found == nullptr || found->is_null()) return;
    }
    if (found == nullptr) place.refuse("missing");
    if constexpr (kPresence == JsonPresence::kOrNan) {
      if (found->is_null()) {
        std::invoke(get, object) = std::numeric_limits<Value>::quiet_NaN();
        return;
      }
    }
    if constexpr (std::integral<Value> && !std::same_as<Value, bool>) {
      std::invoke(get, object) = json_whole<Value>(*found, place, least);
    } else {
      std::invoke(get, object) = json_to<Value>(*found, place);
    }
  }

  /// `object` must be default-initialised.
  template <typename T>
  bool take(JsonCursor& cursor, T& object) const {
    auto& value = std::invoke(get, object);
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (kPresence == JsonPresence::kOptional || kPresence == JsonPresence::kSparse) {
      if (cursor.take_null()) return true;
    }
    if constexpr (kPresence == JsonPresence::kOrNan) {
      if (cursor.take_null()) {
        value = std::numeric_limits<Value>::quiet_NaN();
        return true;
      }
    }
    if constexpr (std::integral<Value> && !std::same_as<Value, bool>) {
      return json_take_whole<Value>(cursor, value, least);
    } else if constexpr (kPresence == JsonPresence::kOptional || kPresence == JsonPresence::kSparse) {
      // The default may differ from Value{}.
      Value taken{};
      if (!json_take(cursor, taken)) return false;
      value = std::move(taken);
      return true;
    } else {
      return json_take(cursor, value);
    }
  }
  static constexpr bool kMayBeAbsent =
      kPresence == JsonPresence::kOptional || kPresence == JsonPresence::kSparse;
};

template <typename Get>
constexpr JsonMember<JsonPresence::kRequired, Get> required(const char* key, Get get) {
  return {key, get};
}
template <typename Get>
constexpr JsonMember<JsonPresence::kOptional, Get> optional(const char* key, Get get) {
  return {key, get};
}
template <typename Get>
constexpr JsonMember<JsonPresence::kSparse, Get> sparse(const char* key, Get get) {
  return {key, get};
}
template <typename Get>
constexpr JsonMember<JsonPresence::kOrNan, Get> or_nan(const char* key, Get get) {
  return {key, get};
}

/// For codecs that extend the table.
template <typename T>
void write_members(const T& object, Json& json) {
  std::apply([&](const auto&... member) { (member.write(object, json), ...); }, JsonMembers<T>::kTable);
}
template <typename T>
T read_members(const Json& json, const JsonPath& path) {
  if (!json.is_object()) path.expected("an object", json);
  T object{};
  std::apply([&](const auto&... member) { (member.read(json, path, object), ...); }, JsonMembers<T>::kTable);
  return object;
}

/// Takes a member and sets its bit in `seen`. Returns false for a duplicate.
template <typename T>
bool take_member(JsonCursor& cursor, std::string_view key, T& object, std::uint64_t& seen) {
  std::uint64_t bit = 1;
  bool known = false, taken = false;
  const auto take_one = [&](const auto& member) {
    if (!member.is_named(key)) {
      bit <<= 1;
      return false;
    }
    known = true;
    taken = (seen & bit) == 0 && member.take(cursor, object);
    seen |= bit;
    return true;
  };
  std::apply([&](const auto&... member) { static_cast<void>((take_one(member) || ...)); },
             JsonMembers<T>::kTable);
  return known ? taken : cursor.skip_scalar();
}
template <typename T>
bool take_members(JsonCursor& cursor, T& object) {
  std::uint64_t seen = 0;
  if (!cursor.take_members([&](std::string_view key) { return take_member(cursor, key, object, seen); }))
    return false;
  std::uint64_t bit = 1, needed = 0;
  const auto need = [&](const auto& member) {
    if (!member.kMayBeAbsent) needed |= bit;
    bit <<= 1;
  };
  std::apply([&](const auto&... member) { (need(member), ...); }, JsonMembers<T>::kTable);
  return (seen & needed) == needed;
}

template <typename T>
requires requires {
  JsonMembers<T>::kTable;
}
struct JsonCodec<T> {
  static Json write(const T& object) {
    Json json = Json::object();
    write_members(object, json);
    return json;
  }
  static T read(const Json& json, const JsonPath& path) { return read_members<T>(json, path); }
  static bool take(JsonCursor& cursor, T& object) { return take_members(cursor, object); }
};

// `where` is the object's path.

template <typename T>
T json_member_as(const Json& object, const char* key, const std::string& where) {
  const JsonPath path(where);
  return json_to<T>(json_member(object, key, where), JsonPath(path, key));
}

template <typename T>
T json_member_or(const Json& object, const char* key, T fallback, const std::string& where) {
  const Json* member = json_optional(object, key, where);
  const JsonPath path(where);
  return member == nullptr ? std::move(fallback) : json_to<T>(*member, JsonPath(path, key));
}

}  // namespace headroom
