// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/number_column.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "headroom/base/error.h"
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

/// Takes numbers, each with the comma behind it and at most one blank.
template <typename Number>
const char* take_many(const char* at, const char* end, std::vector<Number>& column) {
  while (at < end) {
    const char* const stop = json_number_end(at);
    if (stop == nullptr || *stop != ',') break;
    if (!append({at, static_cast<std::size_t>(stop - at)}, column)) break;
    at = stop + (stop[1] == ' ' ? 2 : 1);
  }
  return at;
}

[[noreturn]] void no_number(const std::vector<double>&, const std::string& where) {
  throw Error(where + ": expected a number");
}
[[noreturn]] void no_number(const std::vector<std::uint32_t>&, const std::string& where) {
  throw Error(fmt::format("{}: expected a whole number from 0 up to {}", where,
                          std::numeric_limits<std::uint32_t>::max()));
}

void append_null(std::vector<double>& column, const std::string&) {
  column.push_back(std::numeric_limits<double>::quiet_NaN());
}
void append_null(std::vector<std::uint32_t>& column, const std::string& where) {
  no_number(column, where);
}

template <typename Number>
void read_column(JsonStream& stream, std::vector<Number>& column, const std::string& path) {
  if (stream.peek() != '[') throw Error(path + ": expected an array");
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

void read_number_column(JsonStream& stream, std::vector<double>& column, const std::string& path) {
  read_column(stream, column, path);
}

void read_number_column(JsonStream& stream, std::vector<std::uint32_t>& column, const std::string& path) {
  read_column(stream, column, path);
}

}  // namespace headroom
