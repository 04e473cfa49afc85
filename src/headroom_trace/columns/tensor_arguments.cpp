// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/tensor_arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace headroom::trace {
namespace {

/// Steps return whether they matched.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    skip_space();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool is_next(char wanted) {
    skip_space();
    return !text_.empty() && text_.front() == wanted;
  }
  std::optional<std::int64_t> take_number() {
    skip_space();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return number;
  }
  std::optional<std::string_view> take_text() {
    if (!take('"')) return std::nullopt;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        const std::string_view found = text_.substr(0, i);
        text_.remove_prefix(i + 1);
        return found;
      }
    }
    return std::nullopt;
  }
  bool is_at_end() {
    skip_space();
    return text_.empty();
  }

 private:
  void skip_space() {
    const std::size_t first = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(first, text_.size()));
  }
  std::string_view text_;
};

template <typename TakeElement>
bool take_list(Cursor& cursor, TakeElement&& take_element) {
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return true;
  do {
    if (!take_element()) return false;
  } while (cursor.take(','));
  return cursor.take(']');
}

bool take_shape(Cursor& cursor, Shape& shape) {
  return take_list(cursor, [&] {
    const std::optional<std::int64_t> size = cursor.take_number();
    if (size) shape.push_back(*size);
    return size.has_value();
  });
}

bool take_argument(Cursor& cursor, TensorArgument& argument) {
  Cursor ahead = cursor;
  argument.is_list = ahead.take('[') && ahead.is_next('[');
  if (!argument.is_list) return take_shape(cursor, argument.shapes.emplace_back());
  return take_list(cursor, [&] { return take_shape(cursor, argument.shapes.emplace_back()); });
}

}  // namespace

double element_bytes(std::string_view type) {
  using Entry = std::pair<std::string_view, double>;
  static constexpr std::array kTypes{Entry{"float", 4},
                                     Entry{"Float", 4},
                                     Entry{"double", 8},
                                     Entry{"Double", 8},
                                     Entry{"c10::Half", 2},
                                     Entry{"Half", 2},
                                     Entry{"c10::BFloat16", 2},
                                     Entry{"BFloat16", 2},
                                     Entry{"long int", 8},
                                     Entry{"long", 8},
                                     Entry{"int64_t", 8},
                                     Entry{"Long", 8},
                                     Entry{"int", 4},
                                     Entry{"Int", 4},
                                     Entry{"short", 2},
                                     Entry{"short int", 2},
                                     Entry{"Short", 2},
                                     Entry{"signed char", 1},
                                     Entry{"Char", 1},
                                     Entry{"unsigned char", 1},
                                     Entry{"Byte", 1},
                                     Entry{"bool", 1},
                                     Entry{"Bool", 1},
                                     Entry{"unsigned short", 2},
                                     Entry{"unsigned int", 4},
                                     Entry{"unsigned long", 8},
                                     Entry{"UInt16", 2},
                                     Entry{"UInt32", 4},
                                     Entry{"UInt64", 8},
                                     Entry{"c10::complex<float>", 8},
                                     Entry{"ComplexFloat", 8},
                                     Entry{"c10::complex<double>", 16},
                                     Entry{"ComplexDouble", 16},
                                     Entry{"c10::complex<c10::Half>", 4},
                                     Entry{"ComplexHalf", 4}};
  if (type.starts_with("c10::Float8_") || type.starts_with("Float8_")) return 1;
  const auto found = std::ranges::find(kTypes, type, &Entry::first);
  return found == kTypes.end() ? 0 : found->second;
}

double elements_of(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

std::vector<std::string_view> text_list(std::string_view json) {
  std::vector<std::string_view> texts;
  Cursor cursor(json);
  const bool is_list = take_list(cursor, [&] {
    const std::optional<std::string_view> text = cursor.take_text();
    if (text) texts.push_back(*text);
    return text.has_value();
  });
  return is_list && cursor.is_at_end() ? texts : std::vector<std::string_view>{};
}

std::vector<TensorArgument> tensor_arguments(std::string_view dims, std::string_view types) {
  std::vector<TensorArgument> arguments;
  Cursor cursor(dims);
  const bool is_list = take_list(cursor, [&] { return take_argument(cursor, arguments.emplace_back()); }) &&
                       cursor.is_at_end();
  if (!is_list) return {};
  const std::vector<std::string_view> names = text_list(types);
  for (std::size_t i = 0; i < std::min(names.size(), arguments.size()); ++i) arguments[i].type = names[i];
  return arguments;
}

std::string single_line(std::string_view json) {
  std::string line;
  for (const char c : json) {
    if (c != '\n' && c != '\r' && c != '\t' && c != ' ') line += c;
    if (c == ',') line += ' ';
  }
  return line;
}

}  // namespace headroom::trace
