// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "headroom_trace/json/json_text.h"
#include "headroom_trace/readers/event_fields.h"

namespace headroom::trace::readers {

/// An argument with a column, or any other name.
struct ArgumentName {
  ArgumentName(Argument of) : column(of), text(spelling_of(of)) {}
  template <std::convertible_to<std::string_view> Name>
  ArgumentName(const Name& name) : column(argument_of(name)), text(name) {}
  Argument column;  ///< kCount: no column
  std::string_view text;
};

/// Typed event arguments in file order. Copies all texts.
class EventArguments {
 public:
  using Extent = std::array<std::int64_t, 3>;

  template <std::integral Integer>
  void add(ArgumentName name, Integer value) {
    if constexpr (std::same_as<Integer, bool>) {
      append(name, Json{}, value ? "true" : "false");
    } else if constexpr (std::is_signed_v<Integer>) {
      append(name, std::int64_t{value});
    } else {
      append(name, std::uint64_t{value});
    }
  }
  void add(ArgumentName name, double value) { append(name, value); }
  void add(ArgumentName name, const Extent& value) { append(name, value); }
  void add(ArgumentName name, std::string_view text) { append(name, Text{}, text); }
  void add_json(ArgumentName name, std::string_view json) { append(name, Json{}, json); }
  /// Adds "a":1,"b":[2]. Returns false, adding nothing, if invalid.
  bool add_members(std::string_view json);

  void append(const EventArguments& more);
  /// Renames the first of that name, if any.
  void rename(std::string_view from, ArgumentName to);
  void keep_first(std::size_t count) {
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(count), all_.end());
  }

  bool has(std::string_view name) const { return find(name) < all_.size(); }
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  void clear();

  struct Text {};
  struct Json {};
  struct One {
    Argument column;
    std::variant<std::int64_t, std::uint64_t, double, Extent, Text, Json> value;
    std::uint32_t name_at, name_end, text_at, text_end;
  };
  const std::vector<One>& all() const { return all_; }
  std::string_view name(const One& one) const { return part(one.name_at, one.name_end); }
  /// Text or JSON; empty for other types.
  std::string_view text(const One& one) const { return part(one.text_at, one.text_end); }
  void append_json(const One& one, std::string& out) const;
  /// Returns an object, or an array of the values.
  std::string json(bool is_object) const;

 private:
  template <typename Value>
  void append(const ArgumentName& name, const Value& value, std::string_view text = {}) {
    const auto at = static_cast<std::uint32_t>(texts_.size());
    texts_ += name.text;
    const auto name_end = static_cast<std::uint32_t>(texts_.size());
    texts_ += text;
    all_.push_back({name.column, value, at, name_end, name_end, static_cast<std::uint32_t>(texts_.size())});
  }
  std::size_t find(std::string_view name) const;
  std::string_view part(std::uint32_t at, std::uint32_t end) const {
    return std::string_view(texts_).substr(at, end - at);
  }

  std::vector<One> all_;
  std::string texts_;
};

}  // namespace headroom::trace::readers
