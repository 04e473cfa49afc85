// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace {

/// Takes a C++ type (operators: "c10::BFloat16") or ScalarType (collectives: "BFloat16"). Returns 0 if
/// unknown or not a tensor.
double element_bytes(std::string_view type);

using Shape = std::vector<std::int64_t>;
/// A double, as sizes in a file may overflow.
double elements_of(const Shape& shape);

struct TensorArgument {
  std::vector<Shape> shapes;  ///< one, or one per tensor of a list
  bool is_list = false;
  std::string_view type;  ///< "float", "Scalar", "TensorList", ""
  bool is_tensor() const { return !is_list && element_bytes(type) > 0; }
  const Shape& shape() const { return shapes.front(); }
};

/// Parses "Input Dims" ("[[8, 16], [], [[2], [3]]]") and "Input type" ("[\"float\", \"Scalar\",
/// \"TensorList\"]"). One argument per dims entry, with views of `types`; empty for malformed text.
std::vector<TensorArgument> tensor_arguments(std::string_view dims, std::string_view types);

/// Strips quotes, keeps escapes. Empty for other text.
std::vector<std::string_view> text_list(std::string_view json);

/// Removes the line breaks of indented JSON.
std::string single_line(std::string_view json);

}  // namespace headroom::trace
