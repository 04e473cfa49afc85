// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/number_column.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string_view>

#include "headroom/base/json_number.h"

namespace headroom {
namespace {

bool append(std::string_view token, std::vector<double>& column) {
  column.push_back(json_number_value(token));
  return true;
}

bool append(std::string_view token, std::vector<std::uint32_t>& column) {
  const auto whole = json_whole_number(token);
  if (!whole || *whole > std::numeric_limits<std::uint32_t>::max()) return false;
  column.push_back(static_cast<std::uint32_t>(*whole));
  return true;
}

/// Takes numbers, each with the comma behind it and at most one blank, or with the bracket that ends them.
template <typename Number>
const char* take_many(const char* at, const char* end, std::vector<Number>& column) {
  std::string_view last;
  while (at < end) {
    const char* stop = at + last.size();
    // What the kernel says of samples is often the same in the same words.
    const bool same = !last.empty() && last.size() < static_cast<std::size_t>(end - at) &&
                      std::memcmp(at, last.data(), last.size()) == 0 && (*stop == ',' || *stop == ']');
    if (same) {
      column.push_back(column.back());
    } else {
      stop = json_number_end(at);
      if (stop == nullptr || (*stop != ',' && *stop != ']')) break;
      last = {at, static_cast<std::size_t>(stop - at)};
      if (!append(last, column)) break;
    }
    if (*stop == ']') return stop;
    at = stop + (stop[1] == ' ' ? 2 : 1);
  }
  return at;
}

[[noreturn]] void no_number(const std::vector<double>&, const JsonPath& path) {
  path.refuse("expected a number");
}
[[noreturn]] void no_number(const std::vector<std::uint32_t>&, const JsonPath& path) {
  path.refuse(
      fmt::format("expected a whole number from 0 up to {}", std::numeric_limits<std::uint32_t>::max()));
}

void append_null(std::vector<double>& column, const JsonPath&) {
  column.push_back(std::numeric_limits<double>::quiet_NaN());
}
void append_null(std::vector<std::uint32_t>& column, const JsonPath& path) {
  no_number(column, path);
}

template <typename Number>
void read_column(JsonStream& stream, std::vector<Number>& column, const JsonPath& path) {
  if (stream.peek() != '[') path.refuse("expected an array");
  column.clear();
  stream.numbers([&column](const char* begin, const char* end) { return take_many(begin, end, column); },
                 [&](std::string_view token) {
                   if (token == "null") {
                     append_null(column, path);
                   } else if (token.empty() || !append(token, column)) {
                     no_number(column, path);
                   }
                 });
}

}  // namespace

void read_number_column(JsonStream& stream, std::vector<double>& column, const JsonPath& path) {
  read_column(stream, column, path);
}

void read_number_column(JsonStream& stream, std::vector<std::uint32_t>& column, const JsonPath& path) {
  read_column(stream, column, path);
}

}  // namespace headroom
